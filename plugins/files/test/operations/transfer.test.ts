import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileChange } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { type ObjectStore, objectBackend } from '../fixtures/object-backend.ts'
import { replayRevisions } from '../fixtures/replay.ts'

/** Starts a node whose root is a store without steps for folders, with a mount `/memory`. */
async function createObjectNode(t: Test, abilities: ObjectStore) {
  const services = captureServices()
  const store = objectBackend(abilities)
  const node = await createFilesNode(
    { mounts: { '/': 'objects', '/memory': 'memory' } },
    { plugins: [services.plugin, store.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const send = async (call: string, body: object) => {
    const answer = await post(ada, call, body)
    return { status: answer.status, ...((await answer.json()) as { code?: string; message?: string }) }
  }
  const files = services.files.for(ada.user)
  /** Revisions by path, after they were compared with those of the journal. */
  const agreedTree = async () => {
    const tree = new Map<string, string | null>()
    const visit = async (folder: string) => {
      for await (const { path, type, revision = '' } of files.list(folder)) {
        if (path !== '/memory') tree.set(path, type === 'directory' ? null : revision)
        if (type === 'directory') await visit(path)
      }
    }
    await visit('/')
    const recorded = replayRevisions(await services.recorded(ada.user.uuid))
    for (const path of ['/', '/memory']) recorded.delete(path)
    t.strictSame([...recorded].sort(), [...tree].sort(), 'the journal has the same tree')
    return tree
  }
  const changesAfter = (seq: number) => services.recorded(ada.user.uuid, seq)
  const head = async () => (await services.changes.head(ada.user.uuid)).seq
  const text = async (path: string) => (await get(ada, 'read', path)).text()
  const disk = join(node.dataFolder, 'files', ada.user.uuid)
  const untilIndexed = () => services.untilIndexed(ada)
  return { ada, untilIndexed, store, disk, files, send, agreedTree, changesAfter, head, text }
}

const facts = (changes: readonly FileChange[]) =>
  changes
    .map(({ op, path, source }) => (source === undefined ? `${op} ${path}` : `${op} ${source} ${path}`))
    .sort()

t.test('a folder moves file by file, and each file keeps its revision', async (t) => {
  const { ada, send, agreedTree, changesAfter, head } = await createObjectNode(t, {
    moves: true,
    copies: true,
  })
  for (const path of ['/docs/a', '/docs/inner/b']) await put(ada, path, path)
  await post(ada, 'mkdir', { path: '/docs/empty' })
  const before = await agreedTree()
  const seq = await head()
  t.equal((await send('move', { source: '/docs', destination: '/new/place' })).status, 200)
  t.strictSame(facts(await changesAfter(seq)), [
    'delete /docs',
    'delete /docs/empty',
    'delete /docs/inner',
    'mkdir /new/place',
    'mkdir /new/place/empty',
    'mkdir /new/place/inner',
    'move /docs/a /new/place/a',
    'move /docs/inner/b /new/place/inner/b',
  ])
  const after = await agreedTree()
  t.notOk(after.has('/docs'))
  for (const name of ['a', 'inner/b']) t.equal(after.get(`/new/place/${name}`), before.get(`/docs/${name}`))
})

t.test('a storage that moves nothing copies, then removes, also a single file', async (t) => {
  for (const copies of [true, false]) {
    const { ada, store, files, send, agreedTree, changesAfter, head, text } = await createObjectNode(t, {
      moves: false,
      copies,
    })
    const modified = new Date('2001-02-03T04:05:06.000Z')
    await files.write('/docs/a', (async function* () {})(), { modified })
    await put(ada, '/docs/inner/b', 'bb')
    await put(ada, '/file', 'x')
    await put(ada, '/file', 'y')
    const old = { docs: await files.stat('/docs/a'), file: await files.stat('/file') }
    const seq = await head()
    const reads = store.reads
    t.equal((await send('move', { source: '/docs', destination: '/moved' })).status, 200)
    t.equal(
      (await send('move', { source: '/file', destination: '/moved/inner/b', overwrite: true })).status,
      200,
    )
    t.equal(store.reads === reads, copies, 'no byte passes through the node if the storage copies by itself')
    t.strictSame(facts(await changesAfter(seq)), [
      'delete /docs',
      'delete /docs/a',
      'delete /docs/inner',
      'delete /docs/inner/b',
      'delete /file',
      'mkdir /moved',
      'mkdir /moved/inner',
      'write /moved/a',
      'write /moved/inner/b',
      'write /moved/inner/b',
    ])
    t.strictSame([...(await agreedTree()).keys()].sort(), [
      '/moved',
      '/moved/a',
      '/moved/inner',
      '/moved/inner/b',
    ])
    t.equal(await text('/moved/inner/b'), 'y')
    const moved = await files.stat('/moved/a')
    t.strictSame([moved.modified, moved.created], [modified, old.docs.created])
    t.strictSame((await files.stat('/moved/inner/b')).created, old.file.created)
  }
})

t.test('replacing a folder removes all of it first, and deleting one records each entry', async (t) => {
  for (const moves of [true, false]) {
    const node = await createObjectNode(t, { moves, copies: false })
    const { ada, send, agreedTree, changesAfter, head, text } = node
    for (const [call, source] of [
      ['move', '/docs'],
      ['api/files/copy', '/docs'],
      ['move', '/memory/docs'],
      ['move', '/file'],
    ] as const) {
      for (const path of ['/docs/new', '/memory/docs/new', '/file', '/there/old', '/there/inner/old'])
        await put(ada, path, path)
      t.equal(
        (await send(call, { source, destination: '/there', overwrite: true })).status,
        200,
        `${call} ${source}`,
      )
      t.equal(
        await text(source === '/file' ? '/there' : '/there/new'),
        source === '/file' ? source : `${source}/new`,
      )
      const tree = await agreedTree()
      t.notOk([...tree.keys()].some((path) => path.includes('old') || path.includes('.moving-')))
      await send('delete', { path: '/there' })
      for (const path of ['/docs', '/file', '/memory/docs']) await send('delete', { path })
    }
    for (const path of ['/docs/a', '/docs/inner/b']) await put(ada, path, 'x')
    const seq = await head()
    t.equal((await send('delete', { path: '/docs' })).status, 200)
    t.strictSame(facts(await changesAfter(seq)), [
      'delete /docs',
      'delete /docs/a',
      'delete /docs/inner',
      'delete /docs/inner/b',
    ])
    await put(ada, '/docs/a', 'x')
    t.equal((await send('delete', { path: '/docs', onlyIfEmpty: true })).status, 409)
    await agreedTree()
  }
})

t.test('a move that the storage breaks off says so, and nothing is lost', async (t) => {
  const { ada, store, files, send, agreedTree, text, untilIndexed } = await createObjectNode(t, {
    moves: true,
    copies: false,
  })
  const names = Array.from({ length: 40 }, (_, index) => `${index}`)
  await Promise.all(names.map((name) => put(ada, `/docs/${name}`, name)))
  await untilIndexed()
  store.failAfter(80, true)
  const { status, message } = await send('move', { source: '/docs', destination: '/moved' })
  t.equal(status, 503)
  t.match(message, /Only a part of "\/docs" may be at "\/moved" now, and the rest is still at "\/docs"/)
  store.failAfter(Number.POSITIVE_INFINITY, true)
  const left: string[] = []
  for await (const { name } of files.list('/docs')) left.push(name)
  t.ok(left.length > 0 && left.length < names.length, `${left.length} files are left`)
  for (const name of left) {
    const { status } = await send('move', { source: `/docs/${name}`, destination: `/moved/${name}` })
    t.equal(status, 200, 'it can be moved, so it is not at both places')
  }
  t.equal((await send('delete', { path: '/docs' })).status, 200)
  await agreedTree()
  for (const name of names) t.equal(await text(`/moved/${name}`), name)
})

t.test('a copy that fails or is aborted is removed, whatever was copied', async (t) => {
  const { ada, store, files, send, agreedTree } = await createObjectNode(t, {
    moves: false,
    copies: false,
  })
  for (const name of ['a', 'b', 'inner/c']) await put(ada, `/docs/${name}`, name)
  await put(ada, '/file', 'x')
  const before = await agreedTree()
  const abort = new AbortController()
  store.beforeRead = async () => abort.abort(new Error('enough'))
  await t.rejects(files.copy('/docs', '/copy', { signal: abort.signal }), { message: 'enough' })
  store.beforeRead = async () => {}
  t.strictSame(await agreedTree(), before)
  store.spoilReads = true
  t.match(await send('api/files/copy', { source: '/docs', destination: '/copy' }), { status: 500 })
  t.match(await send('move', { source: '/file', destination: '/copy' }), { status: 500 })
  store.spoilReads = false
  t.strictSame(await agreedTree(), before)
  const long = `/${'n'.repeat(255)}`.repeat(15)
  const { status } = await send('move', { source: '/docs', destination: `${long}/${'n'.repeat(252)}` })
  t.equal(status, 400)
})

t.test('a file that changes while its storage copies it is not copied', async (t) => {
  const { ada, store, disk, send } = await createObjectNode(t, { moves: true, copies: true })
  await put(ada, '/file', 'x')
  store.beforeCopy = () => writeFile(join(disk, 'file'), 'changed by another program')
  const { status, message } = await send('api/files/copy', { source: '/file', destination: '/copy' })
  t.equal(status, 409)
  t.match(message, /"\/file" was changed while it was copied/)
  t.strictSame(await readdir(disk), ['file'])
})

t.test(
  'entries that listings do not show stay at the source of a move, and go with a deleted folder',
  async (t) => {
    const { ada, disk, send } = await createObjectNode(t, { moves: true, copies: false })
    await put(ada, '/docs/inner/a', 'a')
    await mkdir(join(disk, 'docs'), { recursive: true })
    await symlink('nowhere', join(disk, 'docs', 'inner', 'link'))
    const { status, message } = await send('move', { source: '/docs', destination: '/moved' })
    t.equal(status, 409)
    t.match(message, /"\/docs" was moved to "\/moved", but not all of it could be removed.*"\/docs\/inner"/)
    t.strictSame(await readdir(join(disk, 'moved', 'inner')), ['a'])
    t.equal((await send('delete', { path: '/docs' })).status, 200)
    t.strictSame(await readdir(disk), ['moved'])
  },
)
