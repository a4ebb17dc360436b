import { join } from 'node:path'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, folderInMemory } from '../fixtures/storage-folder.ts'

/** Opens a backend with folders `d` within each other, and returns a function that counts the system calls of a change. */
async function openDeep(t: Test, levels: number, root = folderInMemory(t)) {
  const deepest = `/user${'/d'.repeat(levels)}`
  const { disk, calls } = countingDisk()
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  // Also syncs all folders above.
  await backend.write(`${deepest}/first`, chunks('x'))
  const count = async (change: (backend: StorageBackend) => Promise<unknown>) => {
    const before = calls()
    await change(backend)
    return calls() - before
  }
  return { backend, deepest, count }
}

function countingDisk() {
  let calls = 0
  const disk = Object.fromEntries(
    Object.entries(localDisk as object).map(([name, call]) => [
      name,
      (...given: unknown[]) => {
        calls += 1
        return (call as (...given: unknown[]) => unknown)(...given)
      },
    ]),
  ) as unknown as Disk
  return { disk, calls: () => calls }
}

t.test('a change in a deep folder takes no more system calls than one in a flat folder', async (t) => {
  const changes = (deepest: string): Record<string, (backend: StorageBackend) => Promise<unknown>> => ({
    'a new folder': (backend) => backend.makeDirectory(`${deepest}/new`),
    'a file in the new folder': (backend) => backend.write(`${deepest}/new/file`, chunks('x')),
    'a path with nothing': (backend) => backend.stat(`${deepest}/new/none/none`).catch(() => {}),
    'a moved file': async (backend) => backend.move?.(`${deepest}/new/file`, `${deepest}/new/moved`),
    'a removed file': (backend) => backend.remove(`${deepest}/new/moved`),
    'a removed empty folder': (backend) => backend.remove(`${deepest}/new`, { onlyIfEmpty: true }),
    'a folder after a removal': (backend) => backend.makeDirectory(`${deepest}/next`),
    'a moved folder': async (backend) => backend.move?.(`${deepest}/next`, `${deepest}/moved`),
    'a file after the move': (backend) => backend.write(`${deepest}/moved/file`, chunks('x')),
    'a removed folder': (backend) => backend.remove(`${deepest}/moved`),
  })
  const countsAt = async (levels: number) => {
    const { deepest, count } = await openDeep(t, levels)
    const counts: Record<string, number> = {}
    for (const [name, change] of Object.entries(changes(deepest))) counts[name] = await count(change)
    return counts
  }
  const [flat, deep] = [await countsAt(2), await countsAt(1000)]
  for (const [name, calls] of Object.entries(deep)) {
    t.ok(calls <= (flat[name] ?? 0) + 4, `${name}: ${calls} system calls, not ${flat[name]}`)
  }
})

t.test('a folder whose path is too long for the system is found from one near it', async (t) => {
  const root = join(folderInMemory(t), 'r'.repeat(200))
  const { backend, deepest, count } = await openDeep(t, 1980, root)
  const calls = await count((backend) => backend.stat(`${deepest}/none`).catch(() => {}))
  t.ok(calls < 400, `${calls} system calls`)
  t.equal((await backend.stat(`${deepest}/first`)).size, 1)
})
