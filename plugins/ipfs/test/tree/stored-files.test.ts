import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/store.ts'
import { newFolder, openBackend, removeFolder } from '../fixtures/ipfs-folder.ts'

const mebibyte = 1024 * 1024

async function place(t: Test) {
  const folder = await newFolder()
  const opened = openBackend(folder)
  t.teardown(async () => {
    await opened.backend.close()
    await removeFolder(folder)
  })
  return { folder, ...opened, backend: opened.backend as Required<StorageBackend> }
}

async function* stream(bytes: Uint8Array | string): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(bytes)
  for (let start = 0; start < all.length; start += 65_536) yield all.subarray(start, start + 65_536)
}

/** Bytes in which no block is equal to another one. */
function content(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length, seed)
  for (let at = 0; at + 4 <= length; at += 1024) bytes.writeUInt32LE(at + seed, at)
  return bytes
}

async function read(
  backend: Pick<StorageBackend, 'read'>,
  path: string,
  range?: { start: number; end: number },
): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync((await backend.read(path, range)).content))
}

function packFiles(folder: string): string[] {
  return readdirSync(join(folder, 'packs'))
    .filter((name) => name.endsWith('.car'))
    .map((name) => join(folder, 'packs', name))
}

function packedBytes(folder: string): number {
  return packFiles(folder).reduce((sum, file) => sum + statSync(file).size, 0)
}

async function namesIn(backend: StorageBackend, path: string, after?: string): Promise<string[]> {
  return (await Array.fromAsync(backend.list(path, after === undefined ? {} : { after }))).map(
    ({ name }) => name,
  )
}

/** Waits until the index has this many rows. */
async function untilRows(store: Store, sql: string, wanted: number): Promise<void> {
  while (Number(store.view.connection.prepare(sql).get()?.count) !== wanted) await setImmediate()
}

t.test('the same bytes of two users are stored once, and each of them can remove theirs', async (t) => {
  const { folder, backend, store } = await place(t)
  const bytes = content(3 * mebibyte, 1)
  await backend.write('/one/file', stream(bytes))
  const once = packedBytes(folder)
  await backend.write('/other/the same', stream(bytes))
  t.equal(packedBytes(folder), once)
  await backend.remove('/one')
  const { connection } = (await store.open()).view
  while (connection.prepare('SELECT 1 FROM entry WHERE parent = 0').get() !== undefined) await setImmediate()
  t.ok((await read(backend, '/other/the same')).equals(bytes))
  await backend.remove('/other/the same')
  await untilRows(await store.open(), 'SELECT count(*) AS count FROM block', 0)
})

t.test('a copy takes no bytes, and lives on its own', async (t) => {
  const { folder, backend } = await place(t)
  const bytes = content(3 * mebibyte, 2)
  await backend.write('/file', stream(bytes))
  const before = packedBytes(folder)
  const { revision, size } = await backend.copy('/file', '/folder/copy')
  t.equal(packedBytes(folder), before)
  t.equal(size, bytes.length)
  t.not(revision, (await backend.stat('/file')).revision)
  await backend.write('/file', stream('other'))
  t.ok((await read(backend, '/folder/copy')).equals(bytes))
})

t.test('a write that fails leaves no blocks', async (t) => {
  const { backend, store } = await place(t)
  const bytes = content(3 * mebibyte, 9)
  const fault = new Error('the write fails')
  async function* broken() {
    yield* stream(bytes)
    throw fault
  }
  await t.rejects(backend.write('/file', broken()), fault)
  const refuse = { beforeCommit: () => Promise.reject(fault) }
  await t.rejects(backend.write('/file', stream(bytes), refuse), fault)
  await t.rejects(backend.write('/file', stream(bytes), { size: bytes.length + 1 }), {
    code: 'VALIDATION_ERROR',
  })
  await untilRows(await store.open(), 'SELECT count(*) AS count FROM block', 0)
  await backend.write('/kept', stream(bytes))
  await t.rejects(backend.copy('/kept', '/copy', refuse), fault)
  await backend.remove('/kept')
  await untilRows(await store.open(), 'SELECT count(*) AS count FROM block', 0)
})

t.test('blocks of a slow writer go to the disk as they come, and do not gather in memory', async (t) => {
  const { folder, backend } = await place(t)
  const bytes = content(3 * mebibyte, 10)
  const { promise: more, resolve: goOn } = Promise.withResolvers<void>()
  async function* slow() {
    yield* stream(bytes)
    await more
    yield Buffer.from('end')
  }
  await backend.stat('/')
  const written = backend.write('/file', slow())
  while (packedBytes(folder) < 2 * mebibyte) await setImmediate()
  goOn()
  t.equal((await written).size, bytes.length + 3)
})

t.test('a reading yields the bytes of its beginning, though the file is replaced or removed', async (t) => {
  const { backend, store } = await place(t)
  const bytes = content(5 * mebibyte, 3)
  for (const change of [
    () => backend.write('/file', stream('new')),
    () => backend.remove('/file'),
    () => backend.move('/other', '/file', { overwrite: true }),
  ]) {
    await backend.write('/file', stream(bytes))
    await backend.write('/other', stream('other'))
    const { content: reading } = await backend.read('/file')
    const chunks: Uint8Array[] = []
    for await (const chunk of reading) {
      if (chunks.push(chunk) > 1) continue
      await change()
      // The thread removes blocks that nothing holds between these requests.
      for (let round = 0; round < 3; round += 1) await backend.makeDirectory(`/${round}`)
    }
    t.ok(Buffer.concat(chunks).equals(bytes))
  }
  await backend.write('/file', stream(bytes))
  const { content: left } = await backend.read('/file')
  for await (const _chunk of left) break
  const { content: unread } = await backend.read('/file')
  await unread[Symbol.asyncIterator]().return?.()
  await backend.remove('/file')
  await untilRows(await store.open(), 'SELECT count(*) AS count FROM block WHERE length > 100000', 0)
})

t.test('a range of a large file reads no other blocks, and is right at every edge', async (t) => {
  const { backend } = await place(t)
  const bytes = content(3 * mebibyte + 10, 4)
  await backend.write('/file', stream(bytes))
  const edges = [0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte, 3 * mebibyte, bytes.length - 1]
  for (const start of edges)
    for (const end of edges.filter((edge) => edge >= start)) {
      const found = await read(backend, '/file', { start, end })
      t.ok(found.equals(bytes.subarray(start, end + 1)), `${start} to ${end}`)
    }
})

t.test('a flipped bit on the disk is an error that names the file, and never wrong bytes', async (t) => {
  const { folder, backend } = await place(t)
  const large = content(3 * mebibyte, 5)
  const small = content(5000, 6)
  await backend.write('/user/large file', stream(large))
  await backend.write('/user/small', stream(small))
  await backend.write('/user/whole', stream('whole'))
  const [pack = ''] = packFiles(folder)
  const stored = readFileSync(pack)
  for (const bytes of [large.subarray(mebibyte, 2 * mebibyte), small]) {
    const at = stored.indexOf(bytes) + 4321
    stored[at] = (stored[at] ?? 0) ^ 1
  }
  writeFileSync(pack, stored)
  const damaged = (name: string) => ({
    code: 'SERVICE_UNAVAILABLE',
    message: `The bytes of the file "${name}" are damaged on the node's disk. Restore the file from a backup.`,
  })
  await t.rejects(read(backend, '/user/large file'), damaged('large file'))
  await t.rejects(read(backend, '/user/small'), damaged('small'))
  t.ok(
    (await read(backend, '/user/large file', { start: 0, end: mebibyte - 1 })).equals(
      large.subarray(0, mebibyte),
    ),
    'the other bytes can be read',
  )
  t.equal(`${await read(backend, '/user/whole')}`, 'whole')
  await backend.write('/user/small', stream('new'))
  t.equal(`${await read(backend, '/user/small')}`, 'new')
  await backend.write('/other/same', stream(large))
  t.ok(
    (await read(backend, '/user/large file')).equals(large),
    'whoever writes the same bytes mends the file',
  )
  await backend.remove('/user/large file')
})

t.test('a folder of 10,000 entries is listed in pages, and moved and removed in one step', async (t) => {
  const { backend, store } = await place(t)
  await backend.write('/large/first', stream('x'))
  const opened = await store.open()
  const { root } = opened.view.connection.prepare('SELECT root FROM entry WHERE root IS NOT NULL').get() ?? {}
  const names = Array.from({ length: 10_000 }, (_, index) => `${index}`.padStart(5, '0'))
  await opened.change(
    names.map((name) => ({
      kind: 'file',
      path: `/large/${name}`,
      root: root as Uint8Array,
      size: 1,
      modified: 0,
      created: 0,
      revision: `revision-${name}`,
    })),
  )
  const expected = [...names, 'first']
  t.strictSame(await namesIn(backend, '/large'), expected)
  t.strictSame(await namesIn(backend, '/large', '09000'), expected.slice(9001))
  for await (const { name } of backend.list('/large', { after: '04999' })) {
    t.equal(name, '05000')
    break
  }
  await backend.move('/large', '/moved/here')
  t.strictSame(await namesIn(backend, '/moved/here'), expected)
  t.equal((await backend.stat('/moved/here/01234')).revision, 'revision-01234')
  await backend.write('/moved/here/another', stream('x'))
  await backend.remove('/moved')
  t.strictSame(await namesIn(backend, '/'), [])
  await untilRows(opened, 'SELECT count(*) AS count FROM entry', 1)
  await untilRows(opened, 'SELECT count(*) AS count FROM block', 0)
})

t.test('names are what they were, in the order of JavaScript', async (t) => {
  const { folder, backend } = await place(t)
  const names = [
    '😀',
    '\ue000',
    '\uffee',
    'z',
    'Z',
    'é',
    '👩‍👩‍👧',
    ' ',
    'line\nbreak',
    '\u0001',
    '__proto__',
    'a',
    'a!',
    'a0',
  ]
  for (const name of names) await backend.write(`/folder/${name}`, stream(name))
  const sorted = names.toSorted((one, other) => (one < other ? -1 : 1))
  t.strictSame(await namesIn(backend, '/folder'), sorted)
  await backend.close()
  const again = openBackend(folder)
  t.teardown(() => again.backend.close())
  t.strictSame(await namesIn(again.backend, '/folder'), sorted)
  for (const name of names) t.equal(`${await read(again.backend, `/folder/${name}`)}`, name)
})

t.test('a full disk refuses a file, keeps the old ones, and lets them be removed', async (t) => {
  const folder = await newFolder()
  t.teardown(() => removeFolder(folder))
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk], { stdio: 'ignore' })
  } catch {
    return void t.pass('a small file system cannot be mounted here', { skip: true })
  }
  t.teardown(() => execFileSync('umount', [disk]))
  const { backend, store } = openBackend(disk)
  try {
    const kept = content(2 * mebibyte, 7)
    await backend.write('/user/kept', stream(kept))
    const full = { code: 'INSUFFICIENT_STORAGE' }
    const large = content(16 * mebibyte, 8)
    await t.rejects(backend.write('/user/new', stream(large), { size: large.length }), full)
    t.strictSame(await namesIn(backend, '/user'), ['kept'])
    await t.rejects(backend.write('/user/new', stream(large)), full)
    await t.rejects(backend.write('/user/kept', stream(large)), full)
    t.strictSame(await namesIn(backend, '/user'), ['kept'])
    t.ok((await read(backend, '/user/kept')).equals(kept))
    await backend.move?.('/user/kept', '/user/moved')
    await backend.remove('/user/moved')
    await untilRows(await store.open(), 'SELECT count(*) AS count FROM entry WHERE root IS NOT NULL', 0)
    await backend.close()
    const again = openBackend(disk)
    t.strictSame(await namesIn(again.backend, '/user'), [])
    await again.backend.close()
  } finally {
    await backend.close()
  }
})
