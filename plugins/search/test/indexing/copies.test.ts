import { test } from 'tap'
import { createFarNode } from '../fixtures/far-storage.ts'
import { put, statusOf, untilComplete } from '../fixtures/search-node.ts'

/** The paths of the files that were read, in their order. */
const reads: string[] = []

test('a copy of a content that failed is hashed, and not tried again', async (t) => {
  const node = await createFarNode((read) => (...args) => {
    reads.push(args[0])
    return read(...args)
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const broken = Buffer.from(`%PDF-1.4\n${'garbage '.repeat(20)}`)
  const readsOf = (name: string) => reads.filter((path) => path.endsWith(name)).length
  await put(ada, '/far/broken.pdf', broken)
  await untilComplete(ada)
  t.equal(readsOf('broken.pdf'), 2, 'for its text, and for its hash')
  await put(ada, '/far/copy.pdf', broken)
  await untilComplete(ada)
  t.equal(readsOf('copy.pdf'), 1, 'for its hash')
  t.match(await statusOf(ada), { failed: { refused: 2 } })
})
