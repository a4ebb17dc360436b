import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { LocalDisk } from '../../../src/client/disk/local-disk.ts'
import type { LocalFileEntry } from '../../../src/client/ports.ts'
import { SyncFailure } from '../../../src/client/sync-failure.ts'
import { temporaryFolder } from '../fixtures/synced-folders.ts'

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

t.test('what was removed stays in the trash for 30 days on which the client runs', async (t) => {
  const folder = await temporaryFolder(t)
  const trash = join(folder, '.nodekeep-sync/trash')
  const disk = await LocalDisk.open(folder)
  const begun = Date.now()
  let days = 0
  t.capture(Date, 'now', () => begun + days * 86_400_000)
  /** Lets the client run on a day as the clock tells it. Returns the names of the files in the trash. */
  const runOn = async (day: number) => {
    days = day
    await disk.list('/')
    const there = await readdir(trash, { recursive: true })
    return there.filter((path) => path.endsWith('.txt')).map((path) => path.replace(/^.*\/(\w+) .*$/, '$1'))
  }
  const remove = async (name: string) => {
    await writeFile(join(folder, `${name}.txt`), '')
    await disk.trash(`/${name}.txt`, await fileAt(disk, `/${name}.txt`))
  }
  await mkdir(join(trash, '2026-11-23 140512 0123abcd'), { recursive: true })
  await writeFile(join(trash, '2026-11-23 140512 0123abcd/former version.txt'), '')
  await remove('first')
  // A clock that is wrong for some moments, at each start of a machine without a battery.
  for (let start = 0; start < 40; start += 1) {
    await runOn(-20_000)
    t.same(await runOn(400), ['first', 'former'])
  }
  await remove('ahead')
  const kept = ['ahead', 'first', 'former']
  for (let day = 1; day <= 28; day += 1) t.same((await runOn(day)).sort(), kept, `${day}`)
  t.same(await runOn(29), ['ahead'])
  await runOn(30)
  t.same(await runOn(31), [], 'a day in the future stays no longer')
})

t.test('the trash tells the path that a file had', async (t) => {
  const folder = await temporaryFolder(t)
  const trash = join(folder, '.nodekeep-sync/trash')
  const disk = await LocalDisk.open(folder)
  const remove = async (path: string) => {
    await mkdir(join(folder, 'notes'), { recursive: true })
    await writeFile(join(folder, path), 'unwanted')
    await disk.trash(path, await fileAt(disk, path))
  }
  await remove('/notes/a.txt')
  // Its person empties the trash while the client runs.
  await rm(trash, { recursive: true })
  await remove('/notes/b.txt')
  const [day = ''] = await readdir(trash)
  const { name, path } = JSON.parse(await readFile(join(trash, day, 'paths.jsonl'), 'utf8'))
  t.match(name, /^b [0-9a-f]{8}\.txt$/)
  t.equal(path, '/notes/b.txt')
  t.equal(await readFile(join(trash, day, name), 'utf8'), 'unwanted')
})

t.test('a file whose path is almost too long for the disk can be removed', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await LocalDisk.open(folder)
  // The longest path of Linux has 4,095 bytes.
  let path = ''
  while (folder.length + path.length < 3800) path += `/${'d'.repeat(100)}`
  const name = 'n'.repeat(4095 - folder.length - path.length - 1)
  await mkdir(join(folder, path), { recursive: true })
  await writeFile(join(folder, path, name), '')
  await disk.trash(`${path}/${name}`, await fileAt(disk, `${path}/${name}`))
  t.equal(await disk.stat(`${path}/${name}`), null)
})

t.test('a message names the entry, and no file of the client', async (t) => {
  const disk = await LocalDisk.open(await temporaryFolder(t))
  const incoming = await disk.receive(bytesOf('of the node'), { size: 1, modified: 1000 })
  const path = `/${'n'.repeat(256)}`
  await t.rejects(disk.place(incoming, path, null), {
    kind: 'refused',
    message: `${path}: name too long (ENAMETOOLONG)`,
  })
})

t.test('what has become a named pipe or a socket holds nothing up', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await LocalDisk.open(folder)
  for (const name of ['pipe', 'socket']) await writeFile(join(folder, name), '')
  const [pipe, socket] = [await fileAt(disk, '/pipe'), await fileAt(disk, '/socket')]
  for (const name of ['pipe', 'socket']) await rm(join(folder, name))
  spawnSync('mkfifo', [join(folder, 'pipe')])
  const server = createServer().listen(join(folder, 'socket'))
  t.teardown(() => server.close())
  await once(server, 'listening')
  const changed = { name: 'SyncFailure', kind: 'changed' }
  await t.rejects(disk.read('/socket', socket), changed)
  // A read that waits for a writer would get this one.
  let isWritten = false
  const writer = setTimeout(() => {
    isWritten = true
    writeFile(join(folder, 'pipe'), '').catch(() => {})
  }, 10_000)
  await t.rejects(disk.read('/pipe', pipe), changed)
  clearTimeout(writer)
  t.notOk(isWritten, 'nobody has written to the pipe')
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

t.test(
  'a file that another program changes while it gets its place is not taken for the one of the node',
  async (t) => {
    const folder = await temporaryFolder(t)
    const disk = await LocalDisk.open(folder)
    const place = async (path: string, change: (file: string) => void) => {
      const placed = disk.place(
        await disk.receive(bytesOf('of the node'), { size: 11, modified: 1000 }),
        path,
        null,
      )
      const file = join(folder, path)
      while (!existsSync(file)) await setImmediate()
      change(file)
      return placed
    }
    t.equal(await place('/edited', (file) => writeFileSync(file, 'of a person')), null)
    t.equal(await readFile(join(folder, 'edited'), 'utf8'), 'of a person')
    t.equal(await place('/removed', unlinkSync), null)
    t.equal(await place('/replaced', (file) => renameSync(join(folder, 'edited'), file)), null)
    t.match(await place('/kept', () => {}), { type: 'file', size: 11, modified: 1000 })
  },
)

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
