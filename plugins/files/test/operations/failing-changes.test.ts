import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, post } from '../fixtures/files-node.ts'
import { keptFilesOf } from '../fixtures/kept-node.ts'
import { objectBackend } from '../fixtures/object-backend.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

/** Stores without steps for folders, which keep what they replace. They move single files, or only copy them. */
const kinds = ['moves', 'copies'] as const

/** Starts a node on a store that fails when a test says so, with another storage as the mount `/other`. */
async function createFailingNode(t: Test, kind: (typeof kinds)[number]) {
  const services = captureServices()
  const objects = objectBackend({
    moves: kind === 'moves',
    copies: kind === 'copies',
    keepsReplaced: true,
  })
  const other = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/': 'objects', '/other': 'shaky' } },
    { plugins: [services.plugin, objects.plugin, other.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  // From then on, only the node itself asks the store.
  await services.untilIndexed(ada)
  return { services, objects, other, ada, ...keptFilesOf(services, ada, 'objects') }
}

type Node = Awaited<ReturnType<typeof createFailingNode>>

/** Changes of a folder with the files `file` and `new`, and `/other/new`. They replace a content, or put one back. */
const changes: Readonly<Record<string, (node: Node, folder: string) => Promise<unknown>>> = {
  write: ({ write }, folder) => write(`${folder}/file`, 'written'),
  copy: ({ files }, folder) => files.copy(`${folder}/new`, `${folder}/file`, { overwrite: true }),
  'copy from another storage': ({ files }, folder) =>
    files.copy(`/other${folder}/new`, `${folder}/file`, { overwrite: true }),
  move: ({ files }, folder) => files.move(`${folder}/new`, `${folder}/file`, { overwrite: true }),
  'move from another storage': ({ files }, folder) =>
    files.move(`/other${folder}/new`, `${folder}/file`, { overwrite: true }),
  'move a folder over a file': ({ files }, folder) =>
    files.move(`${folder}/folder`, `${folder}/file`, { overwrite: true }),
  'copy a file over a folder': ({ files }, folder) =>
    files.copy(`${folder}/new`, `${folder}/folder`, { overwrite: true }),
  delete: ({ files }, folder) => files.remove(`${folder}/file`),
  'restore a version': async ({ kept }, folder) => {
    const [version] = (await kept.versions(`${folder}/file`)).items
    await kept.restoreVersion(`${folder}/file`, version?.id ?? '')
  },
  'restore an item': async ({ kept }, folder) => {
    const item = (await kept.trash()).items.find(({ path }) => path === `${folder}/deleted`)
    await kept.restore(item?.id ?? '')
  },
  'undo a write': ({ ada }, folder) => post(ada, 'api/files/undo', { group: lastWriteOf(folder) }),
}

/** The contents of a folder before a change. */
const contents = ['version', 'former', 'new', 'of another storage', 'in a folder', 'deleted', 'last']

async function fill({ files, write }: Node, folder: string): Promise<void> {
  await write(`${folder}/file`, 'version')
  await write(`${folder}/file`, 'former')
  await write(`${folder}/new`, 'new')
  for (const name of ['new', 'stays']) await write(`/other${folder}/${name}`, 'of another storage')
  await write(`${folder}/folder/in`, 'in a folder')
  await write(`${folder}/deleted`, 'deleted')
  await files.remove(`${folder}/deleted`)
  await write(`${folder}/file`, 'last', { group: lastWriteOf(folder) })
}

/** The group of the last write of a folder. */
function lastWriteOf(folder: string): string {
  return `last-${folder.slice(1)}`
}

/** All that a person finds: the files with their versions, and what is in the trash. */
async function foundIn({ files, kept, text, versionTexts }: Node, folder: string): Promise<string[]> {
  const items = (await kept.trash({ limit: 1000 })).items.filter(({ path }) => path.startsWith(`${folder}/`))
  for (const [index, { id }] of items.entries()) await kept.restore(id, `${folder}/restored/${index}`)
  const found: string[] = []
  const folders = [folder, `/other${folder}`]
  for (let inner = folders.pop(); inner !== undefined; inner = folders.pop()) {
    for await (const { path, type } of files.list(inner)) {
      if (type === 'directory') folders.push(path)
      else found.push(await text(path), ...(await versionTexts(path)))
    }
  }
  return found
}

for (const kind of kinds) {
  t.test(`a change that fails at any step loses nothing, on a store that ${kind} files`, async (t) => {
    const node = await createFailingNode(t, kind)
    const { objects, files } = node
    let count = 0
    for (const [index, [name, change]] of Object.entries(changes).entries()) {
      for (let step = 1, hasFailed = true; hasFailed; step += 1) {
        count += 1
        const folder = `/${count}`
        await fill(node, folder)
        const lasts = (step + index) % 2 === 0
        const takesEffect = (step + index) % 4 < 2
        if (lasts) objects.failAfter(step, takesEffect)
        else objects.failOnce(step, takesEffect)
        await change(node, folder).catch(() => {})
        hasFailed = objects.hasFailed
        objects.failAfter(Number.POSITIVE_INFINITY, false)
        // The outcomes of changes that are not known yet are found out before the next change.
        for (const path of [folder, `/other${folder}`])
          await t.rejects(files.remove(path, { onlyIfEmpty: true }), { code: 'CONFLICT' })
        const found = await foundIn(node, folder)
        const lost = contents.filter((content) => !found.includes(content))
        t.strictSame(
          lost,
          [],
          `${name}, ${lasts ? 'from' : 'only'} step ${step}, takes effect: ${takesEffect}`,
        )
      }
    }
  })
}

t.test('a copy with other bytes than its source gives the file its content back', async (t) => {
  const node = await createFailingNode(t, 'copies')
  const { ada, services, objects, files, kept, text, versionTexts, keptOnStorage } = node
  await fill(node, '/a')
  const before = await files.stat('/a/file')
  objects.spoilReads = true
  const options = { overwrite: true, group: 'failed' }
  await t.rejects(files.copy('/other/a/new', '/a/file', options), { code: 'INTERNAL_ERROR' })
  await t.rejects(files.move('/other/a/new', '/a/none'), { code: 'INTERNAL_ERROR' })
  objects.spoilReads = false
  t.strictSame([await text('/a/file'), await versionTexts('/a/file')], ['last', ['former', 'version']])
  t.equal(await text('/other/a/new'), 'of another storage')
  t.strictSame((await files.stat('/a/file')).created, before.created)
  await t.rejects(files.stat('/a/none'), { code: 'NOT_FOUND' })
  t.equal((await kept.trash()).items.length, 1)
  t.equal((await keptOnStorage()).length, 3)
  t.equal((await post(ada, 'api/files/undo', { group: 'failed' })).status, 200)
  t.equal(await text('/a/file'), 'last')
  const { entries } = await services.index.for(ada.user).find('file')
  t.strictSame(
    entries.map(({ path, size }) => [path, size]),
    [['/a/file', 'last'.length]],
  )
})

t.test('a copy that ends after it has replaced a file gives the file its content back', async (t) => {
  const node = await createFailingNode(t, 'copies')
  const { objects, files, text, versionTexts } = node
  await fill(node, '/a')
  const control = new AbortController()
  objects.beforeRead = async () => control.abort(new Error('The client is gone.'))
  const options = { overwrite: true, signal: control.signal }
  await t.rejects(files.copy('/other/a/new', '/a/file', options), { message: 'The client is gone.' })
  objects.beforeRead = async () => {}
  t.strictSame([await text('/a/file'), await versionTexts('/a/file')], ['last', ['former', 'version']])
})

t.test('a copy of another version than was named replaces nothing', async (t) => {
  for (const kind of kinds) {
    const node = await createFailingNode(t, kind)
    const { ada, services, other, files, text, versionTexts } = node
    await fill(node, '/a')
    const { revision } = await files.stat('/other/a/new')
    other.beforeRead = async () => {
      other.beforeRead = async () => {}
      const memory = services.backends.get('memory')
      await memory?.write(`/${ada.user.uuid}/a/new`, Readable.from([Buffer.from('changed')]))
    }
    const options = { overwrite: true, ifRevision: revision }
    await t.rejects(files.copy('/other/a/new', '/a/file', options), { code: 'PRECONDITION_FAILED' })
    t.strictSame(
      [await text('/a/file'), await versionTexts('/a/file')],
      ['last', ['former', 'version']],
      kind,
    )
  }
})
