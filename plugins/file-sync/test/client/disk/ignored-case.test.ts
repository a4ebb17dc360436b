// In a process of its own: it changes the functions of `node:fs/promises`.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { LocalDisk } from '../../../src/client/disk/local-disk.ts'
import { createSyncNode } from '../../fixtures/sync-node.ts'
import { syncFolder, temporaryFolder, tree, until } from '../fixtures/synced-folders.ts'
import { ignoreCase } from './fixtures/ignore-case.ts'

t.test('a disk that ignores case has a path only as its names are spelled', async (t) => {
  const folder = await temporaryFolder(t)
  ignoreCase(folder)
  const disk = await LocalDisk.open(folder)
  t.equal(disk.nameKey('Photos'), disk.nameKey('photos'), 'the case is ignored')
  await mkdir(join(folder, 'photos/trip'), { recursive: true })
  await writeFile(join(folder, 'photos/trip/a'), 'a')
  const paths = ['/photos', '/photos/trip', '/photos/trip/a']
  for (const path of paths) t.ok(await disk.stat(path), path)

  // Its person renames the folder in case only. What was below the former name has gone from there.
  await rename(join(folder, 'photos'), join(folder, 'Photos'))
  for (const path of paths) {
    t.equal(await disk.stat(path), null, path)
    t.ok(await disk.stat(path.replace('/p', '/P')), path)
  }
  t.equal(await disk.stat('/Photos/Trip/a'), null)
  t.equal(await disk.stat('/gone/a'), null)
})

t.test('a folder that is renamed in case only has only its new name on the node', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const [folder, other] = [await temporaryFolder(t), await temporaryFolder(t)]
  ignoreCase(folder)
  await mkdir(join(folder, 'photos/trip/empty'), { recursive: true })
  await writeFile(join(folder, 'photos/trip/a'), 'a')
  const client = await syncFolder(t, node, user, { folder })
  await client.idle()
  await rename(join(folder, 'photos'), join(folder, 'Photos'))

  const wanted = ['Photos', 'Photos/trip', 'Photos/trip/a: a', 'Photos/trip/empty']
  await syncFolder(t, node, user, { folder: other })
  await until(client, async () => String(await tree(other)) === String(wanted))
  t.strictSame(await tree(folder), wanted)
  t.equal(client.status().problems.size, 0)
})

t.test('a disk that ignores case and is not mounted has not lost its files', async (t) => {
  const folder = await temporaryFolder(t)
  ignoreCase(folder)
  const disk = await LocalDisk.open(folder)
  await mkdir(join(folder, 'photos'))
  await rename(folder, `${folder}-elsewhere`)
  t.teardown(() => rename(`${folder}-elsewhere`, folder))
  await mkdir(folder)
  t.teardown(() => rm(folder, { recursive: true }))
  await t.rejects(disk.stat('/photos/a'), { name: 'SyncFailure', kind: 'stop' })
})
