// In a process of its own: it counts the descriptors that are open.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { takeSnapshot } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { collect, descriptors, folderInMemory } from '../fixtures/storage-folder.ts'

/** Makes a snapshot. `most` is the highest number of descriptors that were open for it. */
async function snapshotOf(t: Test, root: string) {
  const before = descriptors()
  let most = 0
  const disk: Disk = {
    ...localDisk,
    async mkdir(path) {
      await localDisk.mkdir(path)
      most = Math.max(most, descriptors() - before)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const snapshot = await takeSnapshot(await backend.prepareSnapshot?.(new AbortController().signal))
  return { backend, snapshot, most }
}

t.test('a snapshot takes a bounded number of descriptors for a tree of any form', async (t) => {
  const forms: Record<string, string[]> = {
    wide: Array.from({ length: 900 }, (_, n) => `${n % 30}/${n}`),
    'a comb': Array.from({ length: 400 }, (_, n) => `${'d/'.repeat(n)}tooth`),
  }
  for (const [form, folders] of Object.entries(forms)) {
    const root = folderInMemory(t)
    for (const folder of folders) {
      mkdirSync(join(root, folder), { recursive: true })
      writeFileSync(join(root, folder, 'file'), folder)
    }
    const { backend, snapshot, most } = await snapshotOf(t, root)
    t.ok(most < 600, `${form}: ${most} descriptors`)
    await backend.remove(`/${folders.at(-1)?.split('/')[0]}`)
    for (const folder of folders.filter((_, n) => n % 9 === 0)) {
      const { content } = await snapshot.read(`/${folder}/file`)
      if ((await collect(content)).toString() !== folder) t.fail(folder)
    }
    await snapshot.release()
  }
})

t.test('a snapshot that is aborted or fails leaves no file open', async (t) => {
  const root = folderInMemory(t)
  for (let n = 0; n < 300; n += 1) mkdirSync(join(root, `${n % 5}/${n % 50}/${n}`), { recursive: true })
  for (const ending of ['abort', 'failure'] as const) {
    const controller = new AbortController()
    let made = 0
    const disk: Disk = {
      ...localDisk,
      async mkdir(path) {
        made += 1
        if (made === 100 && ending === 'abort') controller.abort()
        if (made === 100 && ending === 'failure')
          throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'mkdir' })
        await localDisk.mkdir(path)
      },
    }
    const before = descriptors()
    const backend = await openLocalBackend({ root, disk })
    await t.rejects(async () => backend.prepareSnapshot?.(controller.signal))
    await backend.close()
    t.equal(descriptors(), before, ending)
  }
})
