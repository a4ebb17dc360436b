import { lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { StorageBackend, StorageSnapshot } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../src/disk/disk.ts'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, collect, contentsOf, folderInMemory, leftovers } from './fixtures/storage-folder.ts'

const never = new AbortController().signal

async function snapshotOf(
  backend: StorageBackend,
  atMoment: () => Promise<void> = async () => {},
): Promise<StorageSnapshot> {
  const snapshot = await backend.snapshot?.(atMoment, never)
  if (snapshot === undefined) throw new Error('This disk has no hard links.')
  return snapshot
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
    else await backend.move(change.path, change.to, { overwrite: change.overwrite })
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
  await fc.assert(property, { numRuns: 150, endOnFailure: true })
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
  await backend.move('/user/moved', '/user/to')
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
    await backend.move('/user/from', '/user/to')
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
