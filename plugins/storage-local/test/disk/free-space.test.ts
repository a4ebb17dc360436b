// In a process of its own: it counts the descriptors that are open.
import { execFileSync } from 'node:child_process'
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, contentsOf, descriptors, leftovers, temporaryFolder } from '../fixtures/storage-folder.ts'

const mebibyte = 1024 * 1024

async function openBackend(t: Test, disk: Disk) {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  return { root, backend }
}

/** Mounts a file system of 4 MiB in memory. Returns null if that is not allowed. */
function smallFileSystem(t: Test): string | null {
  const folder = join(temporaryFolder(t), 'small')
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', [folder]))
  return folder
}

t.test('a full disk refuses a file, keeps the old files, and works again after a removal', async (t) => {
  const root = smallFileSystem(t)
  if (root === null) return void t.pass('a small file system cannot be mounted here', { skip: true })
  const backend = await openLocalBackend({ root })
  try {
    t.equal(backend.supports.durable, false, 'a file system in memory is not durable')
    await backend.write('/user/kept', chunks(Buffer.alloc(mebibyte, 1)))
    const before = contentsOf(root)
    const large = Array.from({ length: 64 }, () => Buffer.alloc(mebibyte / 8, 2))
    const announced = { size: 8 * mebibyte }
    const full = { code: 'INSUFFICIENT_STORAGE' }
    const open = descriptors()
    await t.rejects(backend.write('/user/new', chunks(...large)), full)
    await t.rejects(backend.write('/user/kept', chunks(...large)), full)
    await t.rejects(backend.write('/user/a/b/c', chunks(...large)), full)
    await t.rejects(backend.write('/user/new', chunks(...large), announced), full)
    const many = Array.from({ length: 6 }, (_, index) => backend.write(`/user/${index}`, chunks(...large)))
    for (const outcome of await Promise.allSettled(many)) t.equal(outcome.status, 'rejected')
    t.strictSame(contentsOf(root), before)
    t.strictSame(leftovers(root), [])
    t.ok(descriptors() <= open + 1, 'no descriptor stays open')
    await backend.write('/user/new', chunks(...large.slice(0, 16)))
    await t.rejects(fill(backend), full)
    writeFileSync(join(root, 'filler'), Buffer.alloc(freeBytes(root) - 64 * 1024))
    await t.rejects(fill(backend), full)
    await t.rejects(
      backend.probe(new AbortController().signal),
      full,
      'the health check reports the full disk',
    )
    await backend.remove('/user')
    await backend.write('/user/new', chunks('there is free space again'))
  } finally {
    await backend.close()
  }
})

t.test('no kind of write uses the reserve of a disk', async (t) => {
  const root = smallFileSystem(t)
  if (root === null) return void t.pass('a small file system cannot be mounted here', { skip: true })
  const backend = await openLocalBackend({ root })
  const full = { code: 'INSUFFICIENT_STORAGE', message: /Remove what is not needed/ }
  const reserve = mebibyte / 2
  const large = Array.from({ length: 100 }, () => Buffer.alloc(60_000, 1))
  try {
    await t.rejects(backend.write('/large', chunks(...large)), full, 'a stream of unknown size is refused')
    const most = { size: 4 * mebibyte - reserve }
    await t.rejects(backend.write('/large', chunks(...large), most), full, 'an announced size is refused')
    const many = Array.from({ length: 200 }, (_, index) => backend.write(`/${index}`, chunks(large[0] ?? '')))
    const outcomes = await Promise.allSettled(many)
    t.ok(
      outcomes.some(({ status }) => status === 'rejected') && freeBytes(root) >= reserve,
      'many writes at once keep the reserve',
    )
    await t.rejects(fill(backend), full, 'small files are refused')
    t.ok(freeBytes(root) >= reserve, `${freeBytes(root)} bytes are free`)
    await t.rejects(fillWithFolders(backend), full, 'folders are refused')
    t.ok(freeBytes(root) >= reserve - 4096)
    await t.rejects(
      backend.probe(new AbortController().signal),
      full,
      'the health check reports the full disk',
    )
    for await (const { name } of backend.list('/')) await backend.remove(`/${name}`)
    await backend.write('/new', chunks('there is free space again'))
  } finally {
    await backend.close()
  }
})

t.test('the backend queries the free space at most every 100 ms', async (t) => {
  let queries = 0
  const disk: Disk = {
    ...localDisk,
    space(path) {
      queries += 1
      return localDisk.space(path)
    },
  }
  const { backend } = await openBackend(t, disk)
  const begun = performance.now()
  for (let index = 0; index < 200; index += 1) await backend.write(`/${index % 8}`, chunks('x'))
  const most = (performance.now() - begun) / 100 + 1
  t.ok(queries > 0 && queries <= most, `${queries} queries, at most ${most} are allowed`)
})

t.test('no write waits for a query of the free space while there is plenty of it', async (t) => {
  const answer = { available: 8n * 1024n ** 3n, total: 16n * 1024n ** 3n }
  const { promise: later, resolve } = Promise.withResolvers<typeof answer>()
  let queries = 0
  const disk: Disk = {
    ...localDisk,
    async space() {
      queries += 1
      return queries === 1 ? answer : later
    },
  }
  const { root, backend } = await openBackend(t, disk)
  for (let index = 0; queries < 2; index += 1) await backend.write('/file', chunks(`${index}`))
  await backend.write('/file', chunks('last'))
  t.strictSame(contentsOf(root), { '/file': 'last' })
  resolve(answer)
})

t.test('a file system that does not report its free space is used without a limit', async (t) => {
  const disk: Disk = { ...localDisk, space: async () => ({ available: 0n, total: 0n }) }
  const { root, backend } = await openBackend(t, disk)
  await backend.write('/file', chunks('x'), { size: 1 })
  t.strictSame(contentsOf(root), { '/file': 'x' })
})

/** Returns the free bytes of the file system of a folder. */
function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

async function fillWithFolders(backend: StorageBackend): Promise<void> {
  for (let index = 0; index < 100_000; index += 1) await backend.makeDirectory(`/filling/folder-${index}`)
}

async function fill(backend: StorageBackend): Promise<void> {
  for (let index = 0; ; index += 1) await backend.write(`/filling/${index}`, chunks(Buffer.alloc(4096)))
}
