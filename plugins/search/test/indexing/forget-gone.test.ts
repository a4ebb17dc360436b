import { test } from 'tap'
import { createFarNode } from '../fixtures/far-storage.ts'
import { found, put, send, statusOf, until, untilComplete } from '../fixtures/search-node.ts'

/** Lets reads of files with a name go on when it resolves. */
const gates = new Map<string, Promise<void>>()

/** The names of files whose reads wait, or have waited. */
const reached = new Set<string>()

test('a file that comes back from the trash while others are extracted is found', async (t) => {
  const node = await createFarNode((read) => async (...args) => {
    const name = args[0].split('/').at(-1) ?? ''
    reached.add(name)
    await gates.get(name)
    return read(...args)
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  gates.set('first.txt', first.promise).set('second.txt', second.promise)
  await put(ada, '/far/first.txt', 'one')
  await until(async () => reached.has('first.txt'))
  await put(ada, '/far/second.txt', 'two')
  await put(ada, '/far/lost.txt', 'walrus')
  await until(async () => (await statusOf(ada)).waiting === 3)
  await send(ada, 'POST', '/delete', { path: '/far/lost.txt' })
  first.resolve()
  // The newest file is first: that it is gone is known when the next one is read.
  await until(async () => reached.has('second.txt'))
  const { items } = (await send(ada, 'GET', '/api/files/trash')) as { items: { id: string }[] }
  await send(ada, 'POST', '/api/files/trash/restore', { id: items[0]?.id })
  await found(ada, 'any')
  second.resolve()
  await untilComplete(ada)
  t.strictSame(await found(ada, 'walrus'), ['/far/lost.txt'])
})
