import t from 'tap'
import { publishInTime } from '../src/publish-in-time.ts'
import { endlessStorage } from './fixtures/endless-storage.ts'
import { createIpfsNode, publications, withdraw } from './fixtures/ipfs-node.ts'

t.test('a call that waits long is made again, and all of them are one publication', async (t) => {
  const config = { storage: { mounts: { '/endless': 'endless' } }, server: { drainSeconds: 1 } }
  const node = await createIpfsNode({ config, plugins: [endlessStorage] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { signal } = new AbortController()
  let calls = 0
  const calling = Promise.withResolvers<void>()
  const client = {
    fetch(path: string, init?: RequestInit) {
      calls += 1
      if (calls === 3) calling.resolve()
      return owner.fetch(path, init)
    },
  }
  const never = publishInTime(owner, '/endless/b', { signal, callMs: 100_000 })
  while ((await publications(owner)).publications.length === 0);
  // It has to wait for the first one.
  const published = publishInTime(client, '/endless/a', { signal, callMs: 20 })
  await calling.promise
  const { publications: adding } = await publications(owner)
  t.match(
    adding.map(({ path, state }) => ({ path, state })).toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    [
      { path: '/endless/a', state: 'adding' },
      { path: '/endless/b', state: 'adding' },
    ],
  )
  const refused = t.rejects(never, /withdrawn/)
  await withdraw(owner, adding.find(({ path }) => path === '/endless/b')?.id ?? '')
  await refused
  const { id, path } = await published
  t.equal(path, '/endless/a')
  t.match((await publications(owner)).publications, [{ id, path, state: 'published' }])
})
