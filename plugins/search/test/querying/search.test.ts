import { test } from 'tap'
import { createSearchNode, put, untilComplete } from '../fixtures/search-node.ts'

test('a user has a bounded number of searches at a time', async (t) => {
  const node = await createSearchNode()
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  for (const name of ['a', 'b', 'c']) await put(ada, `/${name}.txt`, 'pelican')
  await untilComplete(ada)
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => (await ada.fetch('/api/search?q=pelican')).status),
  )
  t.ok(statuses.includes(200))
  t.ok(
    statuses.every((status) => status === 200 || status === 429),
    `${statuses}`,
  )
  t.equal((await bob.fetch('/api/search?q=pelican')).status, 200)
})
