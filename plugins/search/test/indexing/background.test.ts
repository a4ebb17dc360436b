import { test } from 'tap'
import { createFarNode } from '../fixtures/far-storage.ts'
import { put, statusOf, untilComplete } from '../fixtures/search-node.ts'

/** Readings that were begun, and those whose loop has ended. */
const readings = { begun: 0, ended: 0 }

async function* counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } finally {
    readings.ended += 1
  }
}

test('a file that another program has changed is closed, and tried again later', async (t) => {
  // The files always have another revision when they are read.
  const node = await createFarNode((read) => async (...args) => {
    const { entry, content } = await read(...args)
    readings.begun += 1
    return { entry: { ...entry, revision: 'another' }, content: counted(content) }
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/far/file.txt', 'walrus')
  await untilComplete(ada)
  t.match(await statusOf(ada), { failed: { unreadable: 1 } })
  t.ok(readings.begun > 0)
  t.equal(readings.ended, readings.begun)
})
