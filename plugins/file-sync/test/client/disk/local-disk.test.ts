import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
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
    const incoming = await disk.receive(bytesOf('of the node'), 1000)
    const written = once(program, 'message')
    await disk.place(incoming, '/file.txt', entry)
    await written
    t.equal(await readFile(file, 'utf8'), 'of the node')
  }
  const [name = ''] = await rescued()
  t.match(name, /^rescued [0-9a-f]{8} file\.txt$/)
  t.equal(await readFile(join(folder, name), 'utf8'), 'written at the last moment')
})

t.test('what another program has put in place is neither replaced nor removed', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await LocalDisk.open(folder)
  await writeFile(join(folder, 'a'), 'former')
  const former = await fileAt(disk, '/a')
  await writeFile(join(folder, 'a'), 'edited')
  const incoming = await disk.receive(bytesOf('of the node'), 1000)
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

async function fileAt(disk: LocalDisk, path: string): Promise<LocalFileEntry> {
  const entry = await disk.look(path)
  if (entry?.type !== 'file') throw new SyncFailure('changed', `${path} is no file.`)
  return entry
}

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}
