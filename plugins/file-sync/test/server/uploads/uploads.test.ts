import { setImmediate } from 'node:timers/promises'
import { setClock } from '@nodekeep/kernel/testing'
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

test('an upload expires when it was not used for long, and not because the clock was behind', async (t) => {
  const database = openContentDatabase(':memory:')
  t.teardown(() => database.close())
  t.teardown(() => setClock(null))
  const uploads = new Uploads(database)
  const now = Date.now()
  const { id } = uploads.create('ada', {
    path: '/a',
    size: 1,
    sha256: sha256('a'),
    blocks: [{ sha256: sha256('a'), size: 1 }],
  })
  for (const days of [-20_000, 0, 1, 8]) {
    setClock(new Date(now + days * 86_400_000))
    uploads.expire()
    const { count } = database.prepare('SELECT count(*) AS count FROM uploads').get() as { count: number }
    t.equal(count, days < 8 ? 1 : 0, `day ${days}`)
  }
  t.throws(() => uploads.get('ada', id), { code: 'NOT_FOUND' })
})
