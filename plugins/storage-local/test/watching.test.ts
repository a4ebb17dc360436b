import { spawnSync } from 'node:child_process'
import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, temporaryFolder } from './fixtures/storage-folder.ts'

/** Opens a backend with some folders of a user, and watches it. Of a folder that is made later, two hints come. */
async function watched(t: Test, ...folders: readonly string[]) {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  for (const folder of ['', ...folders]) await mkdir(join(root, 'user', folder))
  const hints: string[] = []
  await watch(backend, (path) => hints.push(path))
  /** Waits for a hint of exactly this path. */
  const hinted = async (path: string) => {
    while (!hints.includes(path)) await delay(5)
  }
  return { backend, root, hints, hinted }
}

function watch(backend: StorageBackend, listener: (path: string) => void) {
  if (backend.watch === undefined) throw new Error('The backend cannot watch.')
  return backend.watch(listener, new AbortController().signal)
}

t.test('the unfinished work of the node gives no hints', async (t) => {
  const { backend, root, hints, hinted } = await watched(t)
  for (let index = 0; index < 50; index += 1) {
    await backend.write(`/user/${index}`, chunks('text'))
    if (index % 2 === 0) await backend.remove(`/user/${index}`)
  }
  await backend.makeDirectory('/user/folder')
  await backend.remove('/user/folder')
  await writeFile(join(root, 'user', 'last'), 'x')
  await hinted('/user/last')
  t.notOk(hints.find((path) => path.includes('.nodekeep')))
})

t.test('the node’s own changes give no hints, but folders that it makes or moves', async (t) => {
  const { backend, root, hints, hinted } = await watched(t, 'there', 'kept')
  for (const name of ['new', 'removed', 'moved', 'replaced', 'replaces']) {
    await backend.write(`/user/there/${name}`, chunks('text'))
    await backend.write(`/user/there/${name}`, chunks('overwritten'))
  }
  await backend.remove('/user/there/removed')
  await backend.move?.('/user/there/moved', '/user/there/to')
  const keepAt = (name: string) => ({ keepReplacedAt: `/user/kept/${name}` })
  await backend.move?.('/user/there/replaces', '/user/there/replaced', {
    overwrite: true,
    ...keepAt('moved'),
  })
  await backend.write('/user/there/new', chunks('overwritten'), keepAt('written'))
  await backend.write('/user/there/first', chunks('replaces nothing'), keepAt('nothing'))
  await writeFile(join(root, 'user', 'last'), 'x')
  await hinted('/user/last')
  t.strictSame([...new Set(hints)], ['/user/last'])
  await writeFile(join(root, 'user', 'kept', 'written'), 'by another program')
  await hinted('/user/kept/written')

  hints.length = 0
  await backend.makeDirectory('/user/folder')
  await hinted('/user/folder')
  await writeFile(join(root, 'user', 'folder', 'by another'), 'x')
  await hinted('/user/folder/by another')
  await backend.move?.('/user/folder', '/user/elsewhere')
  await hinted('/user/elsewhere')
  t.notOk(hints.includes('/user/there'))
})

t.test('what another program does with a file that the node has just changed is hinted', async (t) => {
  const { backend, root, hints, hinted } = await watched(t)
  const at = (name: string) => join(root, 'user', name)
  for (const name of ['written', 'removed', 'dated', 'moved', 'again', 'short'])
    await backend.write(`/user/${name}`, chunks('text'))
  await writeFile(at('written'), 'by another program')
  await rm(at('removed'))
  await utimes(at('dated'), 1, 1)
  await backend.move?.('/user/moved', '/user/to')
  await writeFile(at('to'), 'by another program')
  await backend.remove('/user/again')
  await writeFile(at('again'), 'by another program')
  for (const name of ['written', 'removed', 'dated', 'to', 'again']) await hinted(`/user/${name}`)
  hints.length = 0
  await backend.remove('/user/short')
  await writeFile(at('mark'), 'x')
  await hinted('/user/mark')
  await writeFile(at('short'), 'for a moment')
  await rm(at('short'))
  await hinted('/user/short')
  t.pass()
})

t.test('a change of another program just after one of the node is hinted', async (t) => {
  const { backend, root, hinted } = await watched(t)
  await backend.write('/user/file', chunks('text'))
  await writeFile(join(root, 'user', 'file'), 'by another program')
  await hinted('/user/file')
  t.pass()
})

t.test('a path that is longer than the system takes does not hold the watch up', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  await mkdir(join(root, 'user'))
  const deep = `/user${`/${'d'.repeat(200)}`.repeat(20)}/file`
  await backend.write(deep, chunks('text'))
  const hints: string[] = []
  const begin = performance.now()
  await watch(backend, (path) => hints.push(path))
  t.ok(performance.now() - begin < 9000, 'it does not wait for its time limit')
  await writeFile(join(root, 'user', 'near'), 'x')
  while (!hints.includes('/user/near')) await delay(5)
  // The system cannot name such a path, so the test could not remove the folder.
  await backend.remove('/user')
})

t.test('names are composed, and links are not followed', async (t) => {
  const outside = temporaryFolder(t)
  const { root, hints, hinted } = await watched(t)
  await symlink(outside, join(root, 'user', 'link'))
  await hinted('/user/link')
  await writeFile(join(outside, 'behind the link'), 'x')
  await writeFile(join(root, 'user', 'u\u0308ber'), 'x')
  await hinted('/user/\u00fcber')
  t.notOk(hints.find((path) => path.includes('behind')))
})

t.test('an empty folder has another identity than the disk that is not mounted there', async (t) => {
  const place = temporaryFolder(t)
  const root = join(place, 'root')
  const idOf = async () => {
    const backend = await openLocalBackend({ root })
    try {
      return await backend.storageId?.(new AbortController().signal)
    } finally {
      await backend.close()
    }
  }
  const first = await idOf()
  await rename(root, join(place, 'elsewhere'))
  t.not(await idOf(), first)
  await rename(root, join(place, 'mount point'))
  await rename(join(place, 'elsewhere'), root)
  t.equal(await idOf(), first)
})

const skip = spawnSync('unshare', ['-Ur', 'true']).status !== 0 && 'The system allows no namespaces.'

t.test('when the system has no watches left, a hint says to look everywhere', { skip }, async (t) => {
  const root = temporaryFolder(t)
  for (let index = 0; index < 20; index += 1) await mkdir(join(root, 'user', `${index}`), { recursive: true })
  const run = (watches: number, instances = 100) => {
    const program = join(import.meta.dirname, 'fixtures', 'few-watches.ts')
    const options = [...process.execArgv, program, root, `${watches}`, `${instances}`]
    const { stdout, stderr } = spawnSync('unshare', ['-Ur', process.execPath, ...options], {
      encoding: 'utf8',
    })
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as { hints: string[]; failures: string[] }
  }
  t.match(run(10), { hints: ['/'], failures: [/no watches left \(ENOSPC\)/] })
  t.match(run(1000, 0), { hints: ['/'], failures: [/no watches left \(EMFILE\)/] })
  t.strictSame(run(1000), { hints: [], failures: [] })
})
