import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { takeSnapshot } from '@nodekeep/kernel/testing'
import {
  haltTogether,
  type PreparedSnapshot,
  type StorageBackend,
  type StorageSnapshot,
} from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../src/disk/disk.ts'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, collect, contentsOf, folderInMemory, leftovers } from './fixtures/storage-folder.ts'

const never = new AbortController().signal

async function prepare(backend: StorageBackend): Promise<PreparedSnapshot<StorageSnapshot>> {
  const prepared = await backend.prepareSnapshot?.(never)
  if (prepared === undefined) throw new Error('This disk has no hard links.')
  return prepared
}

async function snapshotOf(
  backend: StorageBackend,
  whileHalted?: () => Promise<void>,
): Promise<StorageSnapshot> {
  return takeSnapshot(await prepare(backend), whileHalted)
}

/** Returns the content of a snapshot: the texts of files, and null for folders. */
async function shownBy(snapshot: StorageSnapshot, folder = '/'): Promise<Record<string, string | null>> {
  const shown: Record<string, string | null> = {}
  for await (const { name, type } of snapshot.list(folder)) {
    const path = `${folder === '/' ? '' : folder}/${name}`
    if (type === 'directory') Object.assign(shown, { [path]: null }, await shownBy(snapshot, path))
    else shown[path] = (await collect((await snapshot.read(path)).content)).toString()
  }
  return shown
}

async function names(backend: StorageBackend, folder: string): Promise<string[]> {
  return (await Array.fromAsync(backend.list(folder))).map(({ name }) => name)
}

/** Opens a backend on a disk that calls `onStep` before each link and each new folder of a snapshot. */
async function openWatched(t: Pick<Test, 'teardown'>, onStep: () => Promise<void>, root = folderInMemory(t)) {
  let watches = false
  const disk: Disk = {
    ...localDisk,
    async link(from, to) {
      if (watches) await onStep()
      await localDisk.link(from, to)
    },
    async mkdir(path) {
      if (watches) await onStep()
      await localDisk.mkdir(path)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  return {
    root,
    backend,
    watch(on: boolean) {
      watches = on
    },
  }
}

const segment = fc.constantFrom('a', 'b', 'é')
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`)
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('write' as const), path }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('makeDirectory' as const), path }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('remove' as const), path, onlyIfEmpty: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('move' as const), path, to: path, overwrite: fc.boolean() }),
  },
)

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

let writes = 0

/** Makes a change. Many are not possible, which changes nothing. */
async function apply(backend: StorageBackend, change: Change): Promise<void> {
  try {
    if (change.kind === 'write') {
      writes += 1
      await backend.write(change.path, chunks(`${writes}`))
    } else if (change.kind === 'makeDirectory') await backend.makeDirectory(change.path)
    else if (change.kind === 'remove') await backend.remove(change.path, { onlyIfEmpty: change.onlyIfEmpty })
    else await backend.move?.(change.path, change.to, { overwrite: change.overwrite })
  } catch (error) {
    if (!['CONFLICT', 'NOT_FOUND'].includes((error as { code?: string }).code ?? '')) throw error
  }
}

t.test('a snapshot shows the state at its moment, whatever changes while it is linked', async (t) => {
  const changes = fc.array(change, { maxLength: 30 })
  let changedBeside = 0
  const property = fc.asyncProperty(
    changes,
    fc.array(change, { minLength: 1, maxLength: 60 }),
    fc.integer({ min: 1, max: 4 }),
    async (before, beside, changesPerStep) => {
      const waiting = [...beside]
      const running = new Set<Promise<void>>()
      const next = () => {
        const change = waiting.shift()
        if (change === undefined) return
        const applied = apply(backend, change).finally(() => running.delete(applied))
        running.add(applied)
      }
      const { root, backend, watch } = await openWatched(t, async () => {
        for (let count = 0; count < changesPerStep; count += 1) next()
        // The linking goes on in the middle of a change, or after it. During the halt, changes wait for the linking.
        for (let turn = 0; turn < (waiting.length % 3) * 4; turn += 1) await backend.stat('/')
        changedBeside += 1
      })
      try {
        for (const change of before) await apply(backend, change)
        watch(true)
        let expected: Record<string, string | null> = {}
        const snapshot = await snapshotOf(backend, async () => {
          watch(false)
          expected = contentsOf(root)
          while (waiting.length > 0) next()
        })
        await Promise.all(running)
        t.strictSame(await shownBy(snapshot), expected)
        await snapshot.release()
      } finally {
        await backend.close()
      }
      t.strictSame(leftovers(root), [])
      return t.passing()
    },
  )
  await fc.assert(property, { numRuns: 50, endOnFailure: true })
  t.ok(changedBeside > 150, `changes ran beside ${changedBeside} steps`)
})

t.test('changes go on while the tree is linked, and wait only during the moment', async (t) => {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const { backend, watch } = await openWatched(t, async () => {
    reached.resolve()
    await released.promise
  })
  t.teardown(() => backend.close())
  await backend.write('/user/file', chunks('old'))
  await backend.write('/user/moved/file', chunks('moved'))
  await backend.write('/user/removed/file', chunks('removed'))
  watch(true)
  const making = snapshotOf(backend)
  await reached.promise
  // None of these changes makes a folder: that would wait for the held disk, too.
  await backend.write('/user/file', chunks('new'))
  await backend.move?.('/user/moved', '/user/to')
  await backend.remove('/user/removed')
  watch(false)
  released.resolve()
  const snapshot = await making
  await backend.write('/user/file', chunks('later'))
  t.strictSame(await shownBy(snapshot), {
    '/user': null,
    '/user/file': 'new',
    '/user/to': null,
    '/user/to/file': 'moved',
  })
  await snapshot.release()
})

t.test('a snapshot whose moment fails leaves nothing behind', async (t) => {
  const { root, backend, watch } = await openWatched(t, async () => {
    watch(false)
    await backend.remove('/user/a')
  })
  t.teardown(() => backend.close())
  await backend.write('/user/a/b/c', chunks('x'))
  await backend.write('/user/d/e', chunks('x'))
  watch(true)
  await t.rejects(
    snapshotOf(backend, () => Promise.reject(new Error('no'))),
    {
      message: 'no',
    },
  )
  await backend.write('/user/f', chunks('changes go on'))
  await backend.close()
  t.strictSame(leftovers(root), [])
})

t.test('a snapshot tells which entries of the disk it leaves out', async (t) => {
  const root = folderInMemory(t)
  const inside = (...names: string[]) => join(root, 'user', ...names)
  mkdirSync(inside('\u00e9'), { recursive: true })
  writeFileSync(inside('\u00e9', 'file'), 'composed')
  mkdirSync(inside('e\u0301'))
  mkdirSync(inside('o\u0308'))
  symlinkSync('nowhere', inside('o\u0308', 'link'))
  symlinkSync('/etc', inside('to-folder'))
  // Composed and decomposed letters in one name.
  writeFileSync(inside('\u00e9e\u0301'), 'mixed')
  writeFileSync(Buffer.concat([Buffer.from(`${inside()}/`), Buffer.from([0x61, 0xff])]), 'illegible')
  const socket = createServer().listen(inside('socket'))
  t.teardown(() => socket.close())
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  const omissions = async () => {
    const snapshot = await snapshotOf(backend)
    const found = Object.fromEntries(snapshot.omitted.map(({ what, why }) => [what, why]))
    t.equal(Object.keys(found).length, snapshot.omitted.length)
    t.strictSame(await shownBy(snapshot), {
      '/user': null,
      '/user/\u00e9': null,
      '/user/\u00e9/file': 'composed',
      '/user/\u00f6': null,
    })
    await snapshot.release()
    return found
  }
  t.strictSame(await omissions(), {
    '/user/e\u0301': 'Another entry has the same name in another Unicode form.',
    '/user/\u00f6/link': 'It is a symbolic link.',
    '/user/to-folder': 'It is a symbolic link.',
    '/user/\u00e9e\u0301': 'Its name is in neither NFC nor NFD, or is too long in NFC.',
    '/user/a\ufffd': 'Its name is not valid UTF-8.',
    '/user/socket': 'It is a special file.',
  })
})

t.test('what comes or goes beside the linking is told as it is at the moment', async (t) => {
  const { root, backend, watch } = await openWatched(t, async () => {
    watch(false)
    await backend.remove('/user/removed')
    await backend.remove('/user/folder')
    await backend.write('/user/replaced', chunks('file'))
    await backend.move?.('/user/from', '/user/to')
  })
  t.teardown(() => backend.close())
  for (const folder of ['folder', 'from']) {
    mkdirSync(join(root, 'user', folder), { recursive: true })
    symlinkSync('nowhere', join(root, 'user', folder, 'link'))
  }
  for (const name of ['removed', 'replaced', 'kept']) symlinkSync('nowhere', join(root, 'user', name))
  watch(true)
  const snapshot = await snapshotOf(backend)
  t.strictSame(snapshot.omitted.map(({ what }) => what).sort(), ['/user/kept', '/user/to/link'])
  t.strictSame(await shownBy(snapshot), { '/user': null, '/user/replaced': 'file', '/user/to': null })
  t.ok(lstatSync(join(root, 'user', 'replaced')).isFile())
  await snapshot.release()
})

t.test('snapshots of two disks link their trees before the first one stands still', async (t) => {
  let halted = false
  let linkedDuringHalt = 0
  const disks = await Promise.all(
    [0, 1].map(() =>
      openWatched(t, async () => {
        if (halted) linkedDuringHalt += 1
      }),
    ),
  )
  for (const { backend, watch } of disks) {
    for (let n = 0; n < 30; n += 1) await backend.write(`/user/${n % 5}/${n}`, chunks('old'))
    watch(true)
    t.teardown(() => backend.close())
  }
  const prepared = await Promise.all(disks.map(({ backend }) => prepare(backend)))
  const [first, second] = disks.map(({ backend }) => backend) as [StorageBackend, StorageBackend]
  await first.write('/user/0/0', chunks('new'))
  await second.write('/user/1/1', chunks('new'))
  const [before, after] = prepared as [(typeof prepared)[0], (typeof prepared)[0]]
  const halting: typeof before = {
    ...before,
    async halt() {
      const halt = await before.halt()
      halted = true
      return halt
    },
  }
  const both = await haltTogether([halting, after])
  const waiting = Promise.all(disks.map(({ backend }) => backend.write('/user/later', chunks('x'))))
  const snapshots = await both.fix()
  await both[Symbol.asyncDispose]()
  await waiting
  t.ok(linkedDuringHalt <= 1, `${linkedDuringHalt} links were made while the first disk stood still`)
  for (const [index, snapshot] of snapshots.entries()) {
    const shown = await shownBy(snapshot)
    t.equal(Object.values(shown).filter((text) => text === 'old').length, 29)
    t.equal(shown[`/user/${index}/${index}`], 'new')
    t.notOk('/user/later' in shown)
    await snapshot.release()
  }
})

t.test('a prepared snapshot links what changes while it waits', async (t) => {
  const linked = new Set<string>()
  const disk: Disk = {
    ...localDisk,
    async link(from, to) {
      await localDisk.link(from, to)
      linked.add(readFileSync(to, 'utf8'))
      onLink()
    },
  }
  let onLink = () => {}
  const root = folderInMemory(t)
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const prepared = await prepare(backend)
  for (const text of ['one', 'two']) {
    const arrived = new Promise<void>((resolve) => {
      onLink = () => {
        if (linked.has(text)) resolve()
      }
    })
    await backend.write('/user/file', chunks(text))
    await arrived
  }
  await prepared.release()
  await backend.write('/user/file', chunks('changes go on'))
  t.strictSame(leftovers(root), [])
})

t.test('a snapshot does not wait for the disk to keep the changes before it', async (t) => {
  const allowed = Promise.withResolvers<void>()
  let holds = false
  const disk: Disk = {
    ...localDisk,
    async fsync(fd) {
      if (holds) await allowed.promise
      await localDisk.fsync(fd)
    },
  }
  const backend = await openLocalBackend({ root: folderInMemory(t), disk })
  t.teardown(() => backend.close())
  for (const name of ['moved', 'removed', 'other/file', 'kept'])
    await backend.write(`/user/${name}`, chunks(name))
  const prepared = await prepare(backend)
  holds = true
  const synced: string[] = []
  const running = Object.entries({
    write: backend.write('/user/written', chunks('written')),
    move: backend.move?.('/user/moved', '/user/other/moved'),
    remove: backend.remove('/user/removed'),
    folder: backend.makeDirectory('/user/other/folder'),
  }).map(async ([name, change]) => {
    await change
    synced.push(name)
  })
  while ((await names(backend, '/user/other')).length < 3) await setImmediate()
  while ((await names(backend, '/user')).join() !== 'kept,other,written') await setImmediate()
  const late = new AbortController()
  const taking = takeSnapshot(prepared)
  await Promise.race([taking, setTimeout(5000, undefined, late).catch(() => {})])
  late.abort()
  t.strictSame(synced, [], 'the disk keeps none of the changes yet')
  const isTakenBefore = await Promise.race([taking.then(() => true), setImmediate(false)])
  t.ok(isTakenBefore, 'the snapshot is taken')
  allowed.resolve()
  const snapshot = await taking
  await Promise.all(running)
  t.strictSame(Object.keys(await shownBy(snapshot)).sort(), [
    '/user',
    '/user/kept',
    '/user/other',
    '/user/other/file',
    '/user/other/folder',
    '/user/other/moved',
    '/user/written',
  ])
  await snapshot.release()
})

t.test('changes go on while a large folder is linked that was moved just before the halt', async (t) => {
  const files = 2500
  const moving = Promise.withResolvers<void>()
  const halting = Promise.withResolvers<void>()
  let onLink = async () => {}
  const disk: Disk = {
    ...localDisk,
    async rename(from, to) {
      if (to.endsWith('/moved')) {
        moving.resolve()
        await halting.promise
      }
      await localDisk.rename(from, to)
    },
    async link(from, to) {
      await onLink()
      await localDisk.link(from, to)
    },
  }
  const root = folderInMemory(t)
  mkdirSync(join(root, 'user/large/inner'), { recursive: true })
  for (let index = 0; index < files; index += 1)
    writeFileSync(join(root, `user/large/${index % 2 === 0 ? 'inner/' : ''}${index}`), `${index}`)
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const prepared = await prepare(backend)
  const moved = backend.move?.('/user/large', '/user/moved')
  await moving.promise
  const seen: string[] = []
  let links = 0
  let beside: Promise<unknown> | undefined
  onLink = async () => {
    links += 1
    if (links !== 2000) return
    const written = new AbortController()
    beside = backend.write('/user/beside', chunks('x')).then(() => {
      seen.push('a change')
      written.abort()
    })
    await setTimeout(5000, undefined, written).catch(() => {})
  }
  const taking = takeSnapshot(prepared, async () => {
    seen.push('the halt')
  })
  await setImmediate()
  halting.resolve()
  const snapshot = await taking
  await Promise.all([moved, beside])
  t.strictSame(seen, ['a change', 'the halt'])
  const shown = Object.keys(await shownBy(snapshot))
  t.equal(shown.filter((path) => /^\/user\/moved\/(inner\/)?\d+$/.test(path)).length, files)
  t.equal(shown.length, files + 4, 'nothing else is in the snapshot')
  await snapshot.release()
  t.strictSame(leftovers(root), [])
})

t.test('a file that another program changes in place is read as it is, and told', async (t) => {
  const root = folderInMemory(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  const [large, small] = [5_000_000, 100]
  for (const [name, size] of Object.entries({ cut: large, grown: large, small, same: large, late: large }))
    await backend.write(`/user/${name}`, chunks(Buffer.alloc(size, 'a')))
  const snapshot = await snapshotOf(backend)
  const at = (name: string) => join(root, 'user', name)
  const readWhile = async (name: string, change: () => void) => {
    const { entry, content } = await snapshot.read(`/user/${name}`)
    const received: Buffer[] = []
    for await (const chunk of content) {
      received.push(Buffer.from(chunk))
      if (received.length === 1) change()
    }
    const bytes = Buffer.concat(received)
    t.equal(bytes.length, entry.size, `${name} has the size of its entry`)
    return bytes
  }
  const cut = await readWhile('cut', () => truncateSync(at('cut'), 3_000_000))
  t.equal(cut.lastIndexOf('a'), 2_999_999)
  t.equal(cut.at(-1), 0)
  await readWhile('grown', () => appendFileSync(at('grown'), 'more'))
  await readWhile('same', () => {})
  await readWhile('small', () => {})
  t.strictSame([...snapshot.changed].sort(), ['/user/cut', '/user/grown'])
  appendFileSync(at('late'), 'more')
  await readWhile('late', () => {})
  t.equal(snapshot.changed.length, 2, 'a change before the reading is in the entry of the reading')
  await snapshot.release()
})

t.test('readings of a snapshot use the memory of those that ended', async (t) => {
  const backend = await openLocalBackend({ root: folderInMemory(t) })
  t.teardown(() => backend.close())
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names) await backend.write(`/user/${name}`, chunks(Buffer.alloc(3_000_000, name)))
  const snapshot = await snapshotOf(backend)
  const memory = new Set<ArrayBufferLike>()
  for (const name of names) {
    const { content } = await snapshot.read(`/user/${name}`, { reuseBuffers: true })
    for await (const chunk of content) {
      t.ok(Buffer.from(chunk).equals(Buffer.alloc(chunk.length, name)))
      memory.add(chunk.buffer)
      // The end of a reading may come early.
      if (name === 'c') break
    }
  }
  t.ok(memory.size <= 2, `${memory.size} buffers were used`)
  await snapshot.release()
})

t.test('the files are plain files below the folder that the backend names', async (t) => {
  const root = folderInMemory(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  const paths = [
    '/user/a b/\u00e9\u00c5\ufb01',
    '/user/\ud83d\ude00',
    '/user/CON',
    '/user/ends with .',
    '/user/a:b?*',
  ]
  for (const path of paths) {
    await backend.write(path, chunks(path))
    t.equal(readFileSync(`${backend.plainFolder}${path}`, 'utf8'), path)
  }
  // A restore puts a file there by a rename.
  writeFileSync(join(root, 'unpacked'), 'restored')
  renameSync(join(root, 'unpacked'), `${backend.plainFolder}/user/restored`)
  t.equal((await collect((await backend.read('/user/restored')).content)).toString(), 'restored')
})
