// In a process of its own: it counts the descriptors that are open.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isNodekeepError, type StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../src/disk/disk.ts'
import { openLocalBackend } from '../src/open-local-backend.ts'
import {
  chunks,
  collect,
  contentsOf,
  descriptors,
  leftovers,
  temporaryFolder,
} from './fixtures/storage-folder.ts'

const mebibyte = 1024 * 1024

async function opened(t: Test, disk?: Disk) {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root, ...(disk ? { disk } : {}) })
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
    await t.rejects(backend.probe(new AbortController().signal), full, 'the health check reports it')
    await backend.remove('/user')
    await backend.write('/user/new', chunks('there is free space again'))
  } finally {
    await backend.close()
  }
})

t.test('writes never use the reserve of a disk, however it is filled', async (t) => {
  const root = smallFileSystem(t)
  if (root === null) return void t.pass('a small file system cannot be mounted here', { skip: true })
  const backend = await openLocalBackend({ root })
  const full = { code: 'INSUFFICIENT_STORAGE', message: /Remove what is not needed/ }
  const reserve = mebibyte / 2
  const large = Array.from({ length: 100 }, () => Buffer.alloc(60_000, 1))
  try {
    await t.rejects(backend.write('/large', chunks(...large)), full, 'a stream of unknown size')
    const most = { size: 4 * mebibyte - reserve }
    await t.rejects(backend.write('/large', chunks(...large), most), full, 'an announced size')
    const many = Array.from({ length: 200 }, (_, index) => backend.write(`/${index}`, chunks(large[0] ?? '')))
    const outcomes = await Promise.allSettled(many)
    t.ok(outcomes.some(({ status }) => status === 'rejected') && freeBytes(root) >= reserve, 'many at once')
    await t.rejects(fill(backend), full, 'small files')
    t.ok(freeBytes(root) >= reserve, `${freeBytes(root)} bytes are left free`)
    await t.rejects(fillWithFolders(backend), full, 'folders')
    t.ok(freeBytes(root) >= reserve - 4096)
    await t.rejects(backend.probe(new AbortController().signal), full, 'the health check reports it')
    for await (const { name } of backend.list('/')) await backend.remove(`/${name}`)
    await backend.write('/new', chunks('there is free space again'))
  } finally {
    await backend.close()
  }
})

t.test('the system is asked for free space at most every 100 ms', async (t) => {
  let asked = 0
  const disk: Disk = {
    ...localDisk,
    space(path) {
      asked += 1
      return localDisk.space(path)
    },
  }
  const { backend } = await opened(t, disk)
  const begun = performance.now()
  for (let index = 0; index < 200; index += 1) await backend.write(`/${index % 8}`, chunks('x'))
  const most = (performance.now() - begun) / 100 + 1
  t.ok(asked > 0 && asked <= most, `asked ${asked} times of at most ${most}`)
})

t.test('with plenty of free space, nobody waits for the answer of the system', async (t) => {
  const answer = { available: 8n * 1024n ** 3n, total: 16n * 1024n ** 3n }
  const { promise: later, resolve: tell } = Promise.withResolvers<typeof answer>()
  let asked = 0
  const disk: Disk = {
    ...localDisk,
    async space() {
      asked += 1
      return asked === 1 ? answer : later
    },
  }
  const { root, backend } = await opened(t, disk)
  for (let index = 0; asked < 2; index += 1) await backend.write('/file', chunks(`${index}`))
  await backend.write('/file', chunks('last'))
  t.strictSame(contentsOf(root), { '/file': 'last' })
  tell(answer)
})

t.test('a file system that cannot tell its free space is used without a limit', async (t) => {
  const disk: Disk = { ...localDisk, space: async () => ({ available: 0n, total: 0n }) }
  const { root, backend } = await opened(t, disk)
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

t.test('too many open files are a temporary error', async (t) => {
  const { root, backend } = await opened(t)
  await backend.write('/user/file', chunks('x'))
  await backend.close()
  const report = await underLimits(root, 'too-many-files')
  t.strictSame(report.codes, ['SERVICE_UNAVAILABLE'])
  t.equal(report.recovered, true, 'with descriptors, everything works again')
  t.strictSame(leftovers(root), [])
})

t.test('a folder without write permission is an error that says so', async (t) => {
  const { root, backend } = await opened(t)
  await backend.write('/user/folder/file', chunks('x'))
  await backend.close()
  const nobody = 65_534
  if (process.getuid?.() !== 0)
    return void t.pass('only root can start a process of another user', { skip: true })
  for (const path of ['', 'user', '.nodekeep']) chownSync(join(root, path), nobody, nobody)
  chmodSync(root, 0o700)
  chmodSync(join(root, 'user', 'folder'), 0o755)
  const report = await underLimits(root, 'unwritable')
  t.strictSame(report.codes, ['SERVICE_UNAVAILABLE'])
  t.equal(report.recovered, true, 'other folders work')
  t.strictSame(contentsOf(root), {
    '/user': null,
    '/user/folder': null,
    '/user/folder/file': 'x',
    '/user/other': 'x',
  })
})

interface Report {
  readonly codes: string[]
  readonly recovered: boolean
}

/** Runs a scenario of fixtures/limited-process.ts in a process with at most 64 open files, outside the test runner. */
async function underLimits(root: string, scenario: string): Promise<Report> {
  const script = fileURLToPath(new URL('fixtures/limited-process.ts', import.meta.url))
  const command = 'ulimit -n 64; exec env -i "$@"'
  const args = ['-c', command, 'sh', process.execPath, '--conditions=nodekeep-source', script, scenario, root]
  const child = spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse((await collect(child.stdout)).toString()) as Report
}

t.test('a file that is removed or replaced while it is read is read to its end', async (t) => {
  const { root, backend } = await opened(t)
  const bytes = Buffer.alloc(5 * mebibyte, 'old ')
  for (const change of ['remove', 'replace', 'remove outside'] as const) {
    await backend.write('/user/file', chunks(bytes))
    const reader = (await backend.read('/user/file')).content[Symbol.asyncIterator]()
    const first = await reader.next()
    if (change === 'remove') await backend.remove('/user/file')
    if (change === 'replace') await backend.write('/user/file', chunks('new'))
    if (change === 'remove outside') rmSync(join(root, 'user', 'file'))
    const rest = await collect({ [Symbol.asyncIterator]: () => reader })
    t.ok(Buffer.concat([first.value, rest]).equals(bytes), change)
  }
})

t.test(
  'a file that another program changes in place while it is read is never taken for whole',
  async (t) => {
    const { root, backend } = await opened(t)
    const size = 5 * mebibyte
    for (const change of ['cut', 'overwrite', 'empty'] as const) {
      await backend.write('/user/file', chunks(Buffer.alloc(size, 'old ')))
      const reader = (await backend.read('/user/file')).content[Symbol.asyncIterator]()
      await reader.next()
      if (change === 'cut') truncateSync(join(root, 'user', 'file'), size - 10)
      if (change === 'empty') truncateSync(join(root, 'user', 'file'), 0)
      if (change === 'overwrite') writeFileSync(join(root, 'user', 'file'), Buffer.alloc(size, 'new '))
      await t.rejects(collect({ [Symbol.asyncIterator]: () => reader }), { code: 'CONFLICT' }, change)
    }
  },
)

t.test('other failures of a disk make it unavailable, and its messages stay inside', async (t) => {
  const failing = (code: string) =>
    Promise.reject(Object.assign(new Error(`${code}: /secret/path`), { code, syscall: 'x' }))
  let code = ''
  const disk: Disk = {
    ...localDisk,
    fdatasync: (fd) => (code ? failing(code) : localDisk.fdatasync(fd)),
    rename: (from, to) => (code ? failing(code) : localDisk.rename(from, to)),
  }
  const { root, backend } = await opened(t, disk)
  await backend.write('/file', chunks('kept'))
  for (code of ['EIO', 'ESTALE', 'EROFS', 'EWHATEVER']) {
    for (const attempt of [
      () => backend.write('/file', chunks('x')),
      () => backend.move('/file', '/other'),
    ]) {
      const error = await attempt().catch((thrown: unknown) => thrown)
      if (!isNodekeepError(error)) throw error
      t.equal(error.code, 'SERVICE_UNAVAILABLE', code)
      t.notMatch(error.message, /secret/)
    }
  }
  code = ''
  t.strictSame(contentsOf(root), { '/file': 'kept' })
  t.strictSame(leftovers(root), [])
})

t.test('short writes are continued', async (t) => {
  const disk: Disk = {
    ...localDisk,
    writev(fd, [first = new Uint8Array(0)], position) {
      return localDisk.writev(fd, [first.subarray(0, Math.min(first.length, 1000))], position)
    },
  }
  const { backend } = await opened(t, disk)
  const bytes = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index % 251))
  await backend.write(
    '/file',
    chunks(bytes.subarray(0, 7001), bytes.subarray(7001, 7002), bytes.subarray(7002)),
  )
  t.ok((await collect((await backend.read('/file')).content)).equals(bytes))
})

t.test('nothing leaks a descriptor', async (t) => {
  const { root, backend } = await opened(t)
  const large = Buffer.alloc(3 * mebibyte)
  const round = async () => {
    await backend.write('/user/a/b/large', chunks(large))
    await backend.write('/user/small', chunks('x'))
    await backend.write('/user/small', brokenStream()).catch(() => {})
    await backend.write('/user/small', chunks('x'), { ifAbsent: true }).catch(() => {})
    await backend.write('/user/small/below', chunks('x')).catch(() => {})
    await backend.write('/user/a', chunks('x')).catch(() => {})
    await backend
      .write('/user/x/y', chunks('x'), { beforeCommit: () => Promise.reject(new Error('no')) })
      .catch(() => {})
    await collect((await backend.read('/user/a/b/large')).content)
    for await (const _chunk of (await backend.read('/user/a/b/large')).content) break
    const unused = (await backend.read('/user/a/b/large')).content[Symbol.asyncIterator]()
    await unused.return?.()
    const controller = new AbortController()
    await backend.read('/user/a/b/large', { signal: controller.signal })
    controller.abort()
    await backend.read('/user/a/b/large', { start: 9 * mebibyte }).catch(() => {})
    await backend.read('/user/a').catch(() => {})
    await backend.read('/user/none/none').catch(() => {})
    for await (const _entry of backend.list('/user')) break
    await backend.stat('/user/small/below').catch(() => {})
    await backend.move('/user/a', '/user/new/b').catch(() => {})
    await backend.move('/user/none', '/user/x/y/z').catch(() => {})
    await (await backend.snapshot?.(new AbortController().signal))?.release()
    await backend.remove('/user')
  }
  await round()
  const open = descriptors()
  for (let count = 0; count < 20; count += 1) await round()
  // The last file may still be closing.
  t.ok(descriptors() <= open + 3, `${descriptors()} descriptors, ${open} at first`)
  await backend.close()
  t.strictSame(leftovers(root), [])
})

async function* brokenStream(): AsyncIterable<Uint8Array> {
  yield Buffer.alloc(100)
  throw new Error('broken')
}
