import { definePlugin, type StorageBackend, StorageBackends } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { begin, offsetOf, patch, sendForm } from '../fixtures/guest-uploads.ts'
import { call, createShareNode, link, namesIn, send, shareOf } from '../fixtures/share-node.ts'

/** Runs after a file was written, before the caller of the storage learns that. */
let afterWrite: () => Promise<void> = async () => {}

/** The backend `held`: the backend `memory`, whose writes a test holds back, or fails, after they took effect. */
const held = definePlugin({
  id: 'held',
  requires: { backends: StorageBackends },
  contributes: { own: StorageBackends },
  setup({ backends, own }) {
    const memory = () => backends.get('memory') as StorageBackend
    own.add('held', {
      supports: { atomicFolders: true },
      probe: (signal) => memory().probe(signal),
      stat: (path) => memory().stat(path),
      list: (path, options) => memory().list(path, options),
      read: (path, options) => memory().read(path, options),
      async write(path, content, options) {
        const entry = await memory().write(path, content, options)
        await afterWrite()
        return entry
      },
      makeDirectory: (path) => memory().makeDirectory(path),
      remove: (path, conditions) => memory().remove(path, conditions),
      move: (source, destination, options) =>
        (memory() as Required<StorageBackend>).move(source, destination, options),
      close: async () => {},
    })
  },
})

const node = await createShareNode({
  plugins: [held],
  config: { plugins: { 'storage-memory': true }, storage: { mounts: { '/': 'local', '/held': 'held' } } },
})
t.teardown(() => node.stop())
t.beforeEach(() => {
  afterWrite = async () => {}
})

t.test('a file that is stored although its write fails is stored and counted once', async (t) => {
  const ada = await node.signIn()
  await call(ada, 'POST', '/mkdir', { path: '/held/in' })
  const { path, id } = await link(ada, '/held/in', { kind: 'drop' })
  const address = (await begin(node, path, 'a.txt', 3)).headers.get('location') ?? ''
  afterWrite = async () => {
    throw new Error('The connection to the storage broke off.')
  }
  t.equal((await patch(node, address, 0, '012')).status, 204)
  t.equal(await offsetOf(node, address), 3)
  t.equal((await sendForm(node, path, { 'b.txt': 'b' })).status, 200)
  t.strictSame(await namesIn(ada, '/held/in'), ['a.txt', 'b.txt'])
  t.match(await shareOf(ada, id), { dropped: { files: 2, bytes: 4 }, used: { uploads: 2 } })
})

t.test('a file that is written while its link changes is counted, and no other one goes on', async (t) => {
  const ada = await node.signIn()
  await call(ada, 'POST', '/mkdir', { path: '/held/in' })
  const { path, id } = await link(ada, '/held/in', { kind: 'drop' })
  const written = Promise.withResolvers<void>()
  const changed = Promise.withResolvers<void>()
  afterWrite = async () => {
    written.resolve()
    await changed.promise
  }
  const address = (await begin(node, path, 'a.txt', 3)).headers.get('location') ?? ''
  const other = (await begin(node, path, 'b.txt', 3)).headers.get('location') ?? ''
  t.equal((await patch(node, other, 0, '01')).status, 204)
  const answered = patch(node, address, 0, '012').catch(() => null)
  await written.promise
  const expires = new Date(Date.now() + 60 * 60 * 1000).toISOString()
  const change = send(ada, 'PATCH', `/api/shares/${id}`, { expires })
  // The change is there before what runs has ended.
  while ((await shareOf(ada, id))?.expires !== expires);
  changed.resolve()
  t.equal((await change).status, 200)
  await answered
  t.equal(await offsetOf(node, address), 3, 'the guest learns that it is done')
  await t.rejects(offsetOf(node, other), { message: /404/ })
  t.strictSame(await namesIn(ada, '/held/in'), ['a.txt'])
  t.match(await shareOf(ada, id), { dropped: { files: 1, bytes: 3 }, used: { uploads: 1 } })
})

t.test('a file that is written while its link ends is taken back', async (t) => {
  const ada = await node.signIn()
  await call(ada, 'POST', '/mkdir', { path: '/held/in' })
  const { path, id } = await link(ada, '/held/in', { kind: 'drop' })
  const written = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  afterWrite = async () => {
    written.resolve()
    await ended.promise
  }
  const answered = sendForm(node, path, { 'a.txt': 'a' }).catch(() => null)
  await written.promise
  const removal = ada.fetch(`/api/shares/${id}`, { method: 'DELETE' })
  while ((await shareOf(ada, id)) !== undefined);
  ended.resolve()
  t.equal((await removal).status, 200)
  await answered
  t.strictSame(await namesIn(ada, '/held/in'), [])
})
