// In a process of its own: it counts the descriptors that are open.
import { spawn } from 'node:child_process'
import { chmodSync, chownSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeSnapshot } from '@nodekeep/kernel/testing'
import { isNodekeepError } from '@nodekeep/plugin-sdk'
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

t.test('too many open files give a temporary error', async (t) => {
  const { root, backend } = await opened(t)
  await backend.write('/user/file', chunks('x'))
  await backend.close()
  const report = await underLimits(root, 'too-many-files')
  t.strictSame(report.codes, ['SERVICE_UNAVAILABLE'])
  t.equal(report.recovered, true, 'everything works again when descriptors are free')
  t.strictSame(leftovers(root), [])
})

t.test('a folder without write permission gives an error that says so', async (t) => {
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
  t.equal(report.recovered, true, 'other folders can be written')
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

t.test('a read whose file another program changes in place never ends as if it were complete', async (t) => {
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
})

t.test('other failures of a disk make it unavailable, and clients never see its messages', async (t) => {
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
      async () => backend.move?.('/file', '/other'),
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

t.test('a file that could not be replaced is not kept, and a folder is back at its path', async (t) => {
  let failing = 'none'
  const disk: Disk = {
    ...localDisk,
    rename: (from, to) =>
      to.endsWith(failing) && !String(from).endsWith('name')
        ? Promise.reject(Object.assign(new Error(), { code: 'EIO', syscall: 'rename' }))
        : localDisk.rename(from, to),
  }
  const { root, backend } = await opened(t, disk)
  await backend.write('/file', chunks('old'))
  await backend.write('/folder/file', chunks('old'))
  await backend.write('/moved', chunks('new'))
  const before = contentsOf(root)
  const keeping = { overwrite: true, keepReplacedAt: '/folder/name' }
  const unavailable = { code: 'SERVICE_UNAVAILABLE' }
  failing = '/file'
  await t.rejects(backend.write('/file', chunks('new'), keeping), unavailable)
  await t.rejects(async () => backend.move?.('/moved', '/file', keeping), unavailable)
  failing = '/folder'
  await t.rejects(
    async () => backend.move?.('/moved', '/folder', { ...keeping, keepReplacedAt: '/name' }),
    unavailable,
  )
  t.strictSame(contentsOf(root), before)
  await backend.close()
  t.strictSame(leftovers(root), [])
})

t.test('without hard links, nothing is kept', async (t) => {
  const link = () => Promise.reject(Object.assign(new Error(), { code: 'EPERM', syscall: 'link' }))
  const { root, backend } = await opened(t, { ...localDisk, link })
  t.equal(backend.supports.keepsReplaced, false)
  await backend.write('/file', chunks('old'))
  await backend.write('/file', chunks('new'), { keepReplacedAt: '/kept' })
  t.strictSame(contentsOf(root), { '/file': 'new' })
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

t.test('no operation leaks a descriptor', async (t) => {
  const { root, backend } = await opened(t)
  const large = Buffer.alloc(3 * mebibyte)
  const round = async () => {
    await backend.write('/user/a/b/large', chunks(large))
    await backend.write('/user/small', chunks('x'))
    await backend.write('/user/small', brokenStream()).catch(() => {})
    for (const name of ['first', 'second'])
      await backend.write('/user/small', chunks('x'), { keepReplacedAt: `/user/kept/${name}` })
    for (const name of ['first', 'second'])
      await backend.move?.(`/user/kept/${name}`, '/user/small', {
        overwrite: true,
        keepReplacedAt: `/user/kept again/${name}`,
      })
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
    await backend.move?.('/user/a', '/user/new/b').catch(() => {})
    await backend.move?.('/user/none', '/user/x/y/z').catch(() => {})
    const snapshot = await takeSnapshot(await backend.prepareSnapshot?.(new AbortController().signal))
    await snapshot.release()
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
