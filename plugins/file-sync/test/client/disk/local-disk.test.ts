import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { LocalDisk } from '../../../src/client/disk/local-disk.ts'
import type { LocalFileEntry } from '../../../src/client/ports.ts'
import { SyncFailure } from '../../../src/client/sync-failure.ts'
import { temporaryFolder } from '../fixtures/synced-folders.ts'

t.setTimeout(120_000)

t.test('a file that a program writes to while it is replaced is rescued', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await LocalDisk.open(folder)
  const file = join(folder, 'file.txt')
  await writeFile(file, 'former')
  // The file has a second name while it is replaced. The program writes in this moment, or comes too late and tries again.
  const program = new Worker(
    `const { openSync, fstatSync, writeSync, closeSync, existsSync } = require('node:fs')
     const { parentPort, workerData: { file } } = require('node:worker_threads')
     parentPort.on('message', () => {
       const descriptor = openSync(file, 'r+')
       parentPort.postMessage('ready')
       while (fstatSync(descriptor).nlink === 1) continue
       writeSync(descriptor, 'written at the last moment')
       closeSync(descriptor)
       parentPort.postMessage('written')
     })`,
    { eval: true, workerData: { file } },
  )
  t.teardown(() => program.terminate())
  const rescued = async () => (await readdir(folder)).filter((name) => name.startsWith('rescued '))
  while ((await rescued()).length === 0) {
    program.postMessage('next')
    await once(program, 'message')
    const entry = await fileAt(disk, '/file.txt')
    const incoming = await disk.receive(bytesOf('of the node'), { size: 1, modified: 1000 })
    const written = once(program, 'message')
    await disk.place(incoming, '/file.txt', entry)
    await written
    t.equal(await readFile(file, 'utf8'), 'of the node')
  }
  const [name = ''] = await rescued()
  t.match(name, /^rescued [0-9a-f]{8} file\.txt$/)
  t.equal(await readFile(join(folder, name), 'utf8'), 'written at the last moment')
})

t.test('what was removed stays in the trash for 30 days, however long the client runs', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await LocalDisk.open(folder)
  const begun = Date.now()
  let days = 0
  t.capture(Date, 'now', () => begun + days * 86_400_000)
  for (days of [0, 30, 31]) {
    const name = `after ${days} days`
    await writeFile(join(folder, name), '')
    await disk.trash(`/${name}`, await fileAt(disk, `/${name}`))
    const there = (await readdir(join(folder, '.nodekeep-sync/trash'), { recursive: true })).join('\n')
    t.equal(there.includes('after 0 days'), days < 31, name)
  }
})

t.test('what another program has put in place is neither replaced nor removed', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await LocalDisk.open(folder)
  await writeFile(join(folder, 'a'), 'former')
  const former = await fileAt(disk, '/a')
  await writeFile(join(folder, 'a'), 'edited')
  const incoming = await disk.receive(bytesOf('of the node'), { size: 1, modified: 1000 })
  const changed = { name: 'SyncFailure', kind: 'changed' }
  await t.rejects(disk.place(incoming, '/a', former), changed)
  await t.rejects(disk.place(incoming, '/a', null), changed)
  await t.rejects(disk.trash('/a', former), changed)
  await t.rejects(disk.move('/a', '/b', former), changed)
  await t.rejects(disk.read('/a', former), changed)
  t.equal(await readFile(join(folder, 'a'), 'utf8'), 'edited')
  await disk.place(incoming, '/b', null)
  await t.rejects(disk.move('/b', '/a', await fileAt(disk, '/b')), changed)
  t.strictSame((await readdir(folder)).sort(), ['.nodekeep-sync', 'a', 'b'])
})

t.test('a folder that became a symbolic link leads nowhere', async (t) => {
  const [folder, elsewhere] = [await temporaryFolder(t), await temporaryFolder(t)]
  const disk = await LocalDisk.open(folder)
  await mkdir(join(folder, 'photos/empty'), { recursive: true })
  await writeFile(join(folder, 'photos/a'), 'kept')
  const file = await fileAt(disk, '/photos/a')
  await rename(join(folder, 'photos'), join(elsewhere, 'photos'))
  await symlink(join(elsewhere, 'photos'), join(folder, 'photos'))
  for (const path of ['/photos/a', '/photos/gone', '/photos/é'])
    t.match(await disk.stat(path), { type: 'other', reason: /symbolic link/ })
  const changed = { name: 'SyncFailure', kind: 'changed' }
  await t.rejects(disk.trash('/photos/a', file), changed)
  await t.rejects(disk.move('/photos/a', '/b', file), changed)
  await t.rejects(
    disk.place(await disk.receive(bytesOf('new'), { size: 1, modified: 1000 }), '/photos/a', file),
    changed,
  )
  await t.rejects(disk.removeFolder('/photos/empty'), changed)
  t.strictSame((await readdir(join(elsewhere, 'photos'))).sort(), ['a', 'empty'])
  t.equal(await readFile(join(elsewhere, 'photos/a'), 'utf8'), 'kept')
})

t.test('a file that cannot be looked at does not hide others', async (t) => {
  const base = await temporaryFolder(t)
  // The longest path of Linux has 4,095 bytes.
  let folder = base
  while (folder.length < 3900) folder = join(folder, 'd'.repeat(Math.min(100, 3980 - folder.length)))
  await mkdir(folder, { recursive: true })
  const [long, short] = ['l'.repeat(200), 'short']
  spawnSync('touch', [long, short], { cwd: folder })
  t.teardown(() => spawnSync('rm', ['-rf', join(base, 'd'.repeat(100))]))
  const disk = await LocalDisk.open(folder)
  const found = await disk.list('/')
  t.match(found?.get(long), { type: 'other', reason: /ENAMETOOLONG/ })
  t.match(found?.get(short), { type: 'file' })
})

async function fileAt(disk: LocalDisk, path: string): Promise<LocalFileEntry> {
  const entry = await disk.stat(path)
  if (entry?.type !== 'file') throw new SyncFailure('changed', `${path} is no file.`)
  return entry
}

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}
