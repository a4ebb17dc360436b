import { statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { definePlugin, NodekeepError, StorageBackends } from '@nodekeep/plugin-sdk'
import t, { test } from 'tap'
import { ask, check, createCheckingNode, flipBit, folderOf, put } from './fixtures/checking-node.ts'

t.jobs = 3

test('only own files count, and only for those who may read them', async (t) => {
  const node = await createCheckingNode()
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const file = { name: 'a.txt', content: Buffer.from('of Ada') }
  await put(ada, '/deep/b.txt', file.content)
  t.strictSame(await check(ada, [file]), [{ state: 'stored', path: '/deep/b.txt', backup: null }])
  t.strictSame(await check(bob, [file]), [{ state: 'absent', path: null, backup: null }])
  t.equal((await node.fetch('/api/files/check', { method: 'POST' })).status, 401)
  const tokenWith = async (scopes: string[]) => {
    const answer = await ada.fetch('/api/account/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'check', scopes, expiryDays: 1 }),
    })
    const { token } = (await answer.json()) as { token: string }
    return {
      ...ada,
      fetch: (path: string, init: RequestInit = {}) =>
        node.fetch(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
    }
  }
  t.match(await check(await tokenWith(['files:read']), [file]), [{ state: 'stored' }])
  await t.rejects(ask(await tokenWith(['files:write']), [file]), /files:read/)
})

test('the same content under several names, an empty file and a new user have answers', async (t) => {
  const node = await createCheckingNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const [content, empty] = [Buffer.from('whole'), Buffer.alloc(0)]
  const files = [
    { name: 'a.txt', content },
    { name: 'b.txt', content },
    { name: 'empty', content: empty },
    { name: 'other empty', content: empty },
  ]
  t.match(
    await check(ada, files),
    files.map(() => ({ state: 'absent' })),
  )
  await put(ada, '/a.txt', Buffer.from('who'))
  await put(ada, '/c/b.txt', Buffer.from('other bytes'))
  await put(ada, '/empty', empty)
  t.match(await check(ada, files), [
    { state: 'shorter', path: '/a.txt' },
    { state: 'other', path: '/c/b.txt' },
    { state: 'stored', path: '/empty' },
    { state: 'absent', path: null },
  ])
})

test('a file whose bytes have changed on the disk by themselves is damaged, and a copy of it counts', async (t) => {
  const node = await createCheckingNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const file = { name: 'of-the-card.jpg', content: Buffer.from('a photo') }
  await put(ada, '/a.jpg', file.content)
  t.match(await check(ada, [file]), [{ state: 'stored', path: '/a.jpg' }])
  flipBit(join(folderOf(node, ada), 'a.jpg'))
  t.match(await check(ada, [file]), [{ state: 'damaged', path: '/a.jpg' }])
  t.match(await check(ada, [file]), [{ state: 'damaged', path: '/a.jpg' }], 'until somebody acts')
  await put(ada, '/b.jpg', file.content)
  t.match(await check(ada, [file]), [{ state: 'stored', path: '/b.jpg' }])
  await put(ada, '/b.jpg', Buffer.from('another'))
  await put(ada, '/a.jpg', file.content)
  t.match(await check(ada, [file]), [{ state: 'stored', path: '/a.jpg' }], 'it was stored again')
})

test('a file that a program has rewritten with equal size and time is found by its name', async (t) => {
  const node = await createCheckingNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const [former, now] = ['of before', 'of now...'].map((text) => ({
    name: 'a.bin',
    content: Buffer.from(text),
  }))
  if (former === undefined || now === undefined) throw new Error('There are two.')
  await put(ada, '/a.bin', former.content)
  t.match(await check(ada, [former]), [{ state: 'stored', path: '/a.bin' }])
  const file = join(folderOf(node, ada), 'a.bin')
  const { atime, mtime } = statSync(file)
  writeFileSync(file, now.content, { flag: 'r+' })
  utimesSync(file, atime, mtime)
  for (const round of ['first', 'second']) {
    t.match(await check(ada, [now]), [{ state: 'stored', path: '/a.bin' }], round)
    t.match(await check(ada, [former]), [{ state: 'damaged', path: '/a.bin' }], round)
  }
})

test('a storage out of reach is told, and a copy elsewhere counts', async (t) => {
  let isReachable = true
  const shaky = definePlugin({
    id: 'shaky',
    requires: { backends: StorageBackends },
    contributes: { own: StorageBackends },
    setup({ backends, own }) {
      const memory = backends.get('memory')
      if (memory === undefined) throw new Error('There is no storage "memory".')
      const read: typeof memory.read = (...args) => {
        if (isReachable) return memory.read(...args)
        throw new NodekeepError('SERVICE_UNAVAILABLE', 'The storage is out of reach.')
      }
      const get = (_: object, key: keyof typeof memory) => {
        const value = key === 'read' ? read : memory[key]
        return typeof value === 'function' ? value.bind(memory) : value
      }
      own.add('shaky', new Proxy(memory, { get } as ProxyHandler<typeof memory>))
    },
  })
  const node = await createCheckingNode({
    plugins: [shaky],
    config: { plugins: { 'storage-memory': true }, storage: { mounts: { '/': 'local', '/far': 'shaky' } } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const [known, unknown] = [
    { name: 'a.txt', content: Buffer.from('known') },
    { name: 'b.txt', content: Buffer.from('not yet') },
  ]
  await put(ada, '/far/a.txt', known.content)
  t.match(await check(ada, [known]), [{ state: 'stored', path: '/far/a.txt' }])
  await put(ada, '/far/b.txt', unknown.content)
  isReachable = false
  t.match(await check(ada, [known, unknown]), [
    { state: 'unreadable', path: '/far/a.txt' },
    { state: 'unreadable', path: '/far/b.txt' },
  ])
  await put(ada, '/copy.txt', known.content)
  t.match(await check(ada, [known]), [{ state: 'stored', path: '/copy.txt' }])
})
