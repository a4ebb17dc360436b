import { cpSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { takeSnapshot } from '@nodekeep/kernel/testing'
import {
  type BackupSnapshot,
  definePlugin,
  type FilesService,
  type RestoredEntry,
  Restores,
  restoredEntriesFile,
} from '@nodekeep/plugin-sdk'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, put } from '../fixtures/files-node.ts'

const never = new AbortController().signal
const backup = 'backup-20261101-030000.tar.gz'

/** Unpacks the entries of a snapshot, and lists them as a restore does. */
async function unpack(snapshot: BackupSnapshot, folder: string): Promise<RestoredEntry[]> {
  const restored: RestoredEntry[] = []
  for await (const entry of snapshot.entries()) {
    const { path, type, size, modified, created } = entry
    const file = join(folder, path)
    if (type === 'directory') mkdirSync(file, { recursive: true })
    else {
      writeFileSync(file, await buffer(entry.open()))
      // The system cuts fractions of seconds off below: half a millisecond more is the same millisecond.
      const seconds = (modified.getTime() + 0.5) / 1000
      utimesSync(file, seconds, seconds)
      if (created !== undefined)
        restored.push({ path, size, modified: modified.toISOString(), created: created.toISOString() })
    }
  }
  await snapshot.release()
  return restored
}

async function* chunks(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

/** The facts that people see of each file, except those that a restore may change. */
async function datesOf(
  files: FilesService,
  user: Parameters<FilesService['for']>[0],
  paths: readonly string[],
) {
  const stats = await Promise.all(paths.map((path) => files.for(user).stat(path)))
  return stats.map(({ path, size, created, modified }) => ({ path, size, created, modified }))
}

t.test('after a restore, files have the dates that they had at the moment of the backup', async (t) => {
  const dataFolder = t.testdir()
  const paths = ['/plain', '/folder/overwritten', '/folder/moved', '/folder/\u00e9 "quoted"']
  const start = async (setup: () => void = () => {}) => {
    const services = captureServices()
    const other = definePlugin({
      id: 'restorer',
      requires: { restores: Restores },
      async setup({ restores, nodeDataDir }) {
        const unpacked = join(nodeDataDir, 'unpacked')
        if (!existsSync(unpacked)) return
        const moves = [
          {
            from: join(unpacked, 'local', uuid),
            to: join(nodeDataDir, 'files', uuid),
            previous: join(nodeDataDir, 'previous'),
          },
          {
            from: join(unpacked, restoredEntriesFile),
            to: join(nodeDataDir, 'plugins', 'files', restoredEntriesFile),
            previous: join(nodeDataDir, 'previous-list'),
          },
        ]
        if (existsSync(moves[0]?.from as string)) await restores.plan({ backup, takenAt: new Date(), moves })
      },
    })
    setup()
    const node = await createFilesNode({}, { dataFolder, plugins: [services.plugin, other] })
    const ada = await node.signIn('owner')
    return { node, ada, services }
  }
  let uuid = ''
  const first = await start()
  uuid = first.ada.user.uuid
  for (const path of ['/plain', '/folder/overwritten', '/old', '/folder/\u00e9 "quoted"'])
    await put(first.ada, path, path, { 'x-oc-mtime': '981173106' })
  await put(first.ada, '/folder/overwritten', 'once more')
  await put(first.ada, '/old', 'once more')
  const user = first.ada.user
  await first.services.files.for(user).move('/old', '/folder/moved')
  const before = await datesOf(first.services.files, user, paths)
  const prepared = await first.services.participants.get('files')?.prepare(never)
  const snapshot = await takeSnapshot(prepared)
  const unpacked = join(dataFolder, 'unpacked')
  mkdirSync(unpacked)
  const list = await unpack(snapshot, unpacked)
  const lines = [...list.map((entry) => JSON.stringify(entry)), 'not JSON', '{"path":"other/x/y"}']
  writeFileSync(join(unpacked, restoredEntriesFile), lines.join('\n'))
  for (const path of paths) await put(first.ada, path, 'after the backup')
  await first.node.stop()
  // The next start plans the restore, the one after it applies it.
  await (await start()).node.stop()

  const last = await start()
  t.teardown(() => last.node.stop())
  const { files } = last.services
  t.strictSame(await datesOf(files, user, paths), before)
  const listed = await Array.fromAsync(files.for(user).list('/folder'))
  for (const { path, created } of listed)
    t.strictSame(created, before.find((entry) => entry.path === path)?.created, 'listings tell the same')
  t.notOk(existsSync(join(dataFolder, 'plugins', 'files', restoredEntriesFile)))
  t.ok(readdirSync(join(dataFolder, 'previous')).includes('plain'))

  await files.for(user).write('/plain', chunks('a new version'))
  await files.for(user).move('/folder', '/renamed')
  t.strictSame((await files.for(user).stat('/plain')).created, before[0]?.created)
  t.strictSame((await files.for(user).stat('/renamed/moved')).created, before[2]?.created)
  await files.for(user).remove('/renamed/moved')
  await files.for(user).write('/renamed/moved', chunks('once more'))
  t.ok((await files.for(user).stat('/renamed/moved')).created > (before[2]?.created as Date))
})

t.test('a date belongs only to the restored version of a file', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const { uuid } = (await first.signIn('owner')).user
  await first.stop()
  const modified = new Date('2026-01-02T03:04:05.678Z')
  const created = '2001-02-03T04:05:06.000Z'
  const home = join(dataFolder, 'files', uuid)
  mkdirSync(home, { recursive: true })
  for (const [name, size, time] of [
    ['same', 4, modified],
    ['longer', 5, modified],
    ['newer', 4, new Date(modified.getTime() + 3000)],
  ] as const) {
    writeFileSync(join(home, name), 'x'.repeat(size))
    utimesSync(join(home, name), time, time)
  }
  cpSync(home, join(dataFolder, 'kept'), { recursive: true })
  mkdirSync(join(dataFolder, 'plugins', 'files'), { recursive: true })
  const list = ['same', 'longer', 'newer', 'gone'].map((name) =>
    JSON.stringify({ path: `local/${uuid}/${name}`, size: 4, modified: modified.toISOString(), created }),
  )
  writeFileSync(join(dataFolder, 'plugins', 'files', restoredEntriesFile), list.join('\n'))
  const services = captureServices()
  const node = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const files = services.files.for({ uuid } as Parameters<FilesService['for']>[0])
  const createdOf = async (name: string) => (await files.stat(`/${name}`)).created.toISOString()
  t.equal(await createdOf('same'), created)
  t.not(await createdOf('longer'), created)
  t.not(await createdOf('newer'), created)
})
