import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { openContentDatabase } from '../../../src/server/content/content-database.ts'
import { Uploads } from '../../../src/server/uploads/uploads.ts'
import { sha256 } from '../../fixtures/uploader.ts'

test('other work has its turn while blocks are compared with many uploads, and new uploads count', async (t) => {
  const database = openContentDatabase(':memory:')
  t.teardown(() => database.close())
  const uploads = new Uploads(database)
  const begin = (name: string) =>
    uploads.create('ada', {
      path: `/${name}`,
      size: 1,
      sha256: sha256(name),
      blocks: [{ sha256: sha256(name), size: 1 }],
    })
  for (let number = 0; number < 64; number += 1) begin(`${number}`)
  const comparing = uploads.unnamed('ada', ['63', 'new', 'unnamed'].map(sha256))
  let isOver = false
  const ended = comparing.finally(() => {
    isOver = true
  })
  let turns = 0
  for (; !isOver; turns += 1) {
    await setImmediate()
    if (turns === 10) begin('new')
  }
  await ended
  t.ok(turns >= 64, `${turns} turns`)
  t.strictSame([...(await comparing)], [sha256('unnamed')])
})
