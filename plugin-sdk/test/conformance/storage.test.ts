import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { StorageEntry, StorageListEntry } from '@nodekeep/plugin-sdk'
import {
  filesConformance,
  type StorageHarness,
  storageConformance,
} from '@nodekeep/plugin-sdk/conformance/storage'

import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { oddNames } from '../../src/conformance/storage/odd-names.ts'
import { PaperBackend } from './fixtures/paper-backend.ts'
import type { PaperNode } from './fixtures/paper-tree.ts'
import { runSuite } from './fixtures/suite-run.ts'

function harnessOf(create: () => PaperBackend): StorageHarness {
  return {
    server: null,
    bytesInMemory: (backend) => (backend as PaperBackend).bytesInMemory,
    create: async () => create(),
    createSmall: async () => Object.assign(create(), { limit: 1024 * 1024 }),
    async reopen(closed) {
      const { nodes, id } = closed as PaperBackend
      return Object.assign(create(), { nodes, id })
    },
    otherProgram(watched) {
      const backend = watched as PaperBackend
      return {
        async write(path, text) {
          const now = new Date()
          backend.put(path, { bytes: Buffer.from(text), revision: randomUUID(), modified: now, created: now })
          backend.changed(path)
        },
        async remove(path) {
          for (const other of backend.nodes.keys())
            if (backend.within(other, path)) backend.nodes.delete(other)
          backend.changed(path)
        },
      }
    },
  }
}

/** An entry of a listing without revision and date of creation. */
function sparse({ name, type, size, modified }: StorageEntry, etag: string): StorageListEntry {
  return { name, type, size, modified, ...(type === 'file' && { etag }) }
}

/** Runs the tests of the suite whose names match. Returns the number of these tests and of failures. */
async function run(name: RegExp, create: () => PaperBackend): Promise<{ all: number; failed: number }> {
  const outcomes = await runSuite((test) => storageConformance(test, harnessOf(create)), name)
  return { all: outcomes.length, failed: outcomes.filter(({ outcome }) => outcome === 'failed').length }
}

storageConformance(
  test,
  harnessOf(() => new PaperBackend()),
)

test('The odd names are clean: in NFC, and at most 255 bytes', async (t) => {
  for (const name of oddNames) {
    t.equal(name.normalize('NFC'), name)
    t.ok(Buffer.byteLength(name) <= 255, name)
  }
})

test('A backend may leave revisions and dates of creation out of its listings', async (t) => {
  const { all, failed } = await run(/^(?!a large file)/, () =>
    Object.assign(new PaperBackend(), {
      listed: (entry: StorageEntry) => sparse(entry, `of ${entry.revision}`),
    }),
  )
  t.ok(all > 50)
  t.equal(failed, 0)
})

test('The suite for a view of files has only the tests that views and backends share', async (t) => {
  const namesOf = (register: (add: (name: string) => void) => void) => {
    const names: string[] = []
    register((name) => names.push(name))
    return names
  }
  const create = async () => new PaperBackend()
  const ofBackends = namesOf((add) => storageConformance(add, { create, server: null }))
  const ofViews = namesOf((add) => filesConformance(add, { create: () => Promise.reject() }))
  t.ok(ofViews.every((name) => ofBackends.includes(name)))
  t.ok(ofViews.length > 40 && ofViews.length < ofBackends.length)
})

test('Tests for abilities that a backend does not have are skipped by name', async (t) => {
  const supports = {}
  const missing = { prepareSnapshot: undefined, move: undefined, copy: undefined, watch: undefined }
  const create = async () => Object.assign(new PaperBackend(), { supports, ...missing })
  const harness = { create, server: null, bytesInMemory: null }
  const outcomes = await runSuite((test) => storageConformance(test, harness))
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    [
      'skipped: a moved file is at its new path only',
      'skipped: a folder moves with its whole content, and nothing else',
      'skipped: a folder can move to a name that begins with its own name',
      'skipped: a move replaces nothing without `overwrite`',
      'skipped: a move with `overwrite` replaces a file',
      'skipped: a move with `overwrite` replaces files and folders whole',
      'skipped: a missing path, the root, and a folder into itself cannot be moved',
      'skipped: a move keeps the dates of files',
      'skipped: a write keeps the time that `modified` sets',
      'skipped: a time in the future is replaced by the present',
      'skipped: a time that the storage cannot keep is replaced by the present',
      'skipped: an atomic move keeps the revisions of the moved files',
      'skipped: during an atomic move, the file is seen at exactly one of the two paths',
      'skipped: a file that an atomic move replaces exists at every moment',
      'skipped: a moved folder is seen at exactly one of the two paths, with all its files',
      'skipped: a removed folder is gone with all its files at once',
      'skipped: a folder that replaces another one is seen whole',
      'skipped: a copy has the bytes of its source and a revision of its own, and neither changes the other',
      'skipped: a copy replaces a file, under the conditions of a write',
      'skipped: a copy with `ifSourceRevision` copies that revision only',
      'skipped: `beforeCommit` of a copy is called once, before the copy is visible',
      'skipped: a copy ends without effect when `beforeCommit` rejects',
      'skipped: a copy that is not possible is refused and changes nothing',
      'skipped: a copy keeps the time that `modified` sets',
      'skipped: a write keeps the file that it replaces',
      'skipped: a write with a condition keeps the file that it replaces',
      'skipped: a copy keeps the file that it replaces',
      'skipped: a move of a file keeps the file that it replaces',
      'skipped: a move keeps the folder that it replaces, whole',
      'skipped: a move keeps a folder for a file, and a file for a folder',
      'skipped: where nothing is replaced, nothing is kept',
      'skipped: a change that is not made keeps nothing',
      'skipped: `beforeCommit` finds the file at its path, and nothing that is kept',
      'skipped: a snapshot has what was kept until its moment',
      'skipped: a reading that is open when its file is kept goes on',
      'skipped: the name that is kept can be any',
      'skipped: of several writes at the same time, each former content is kept once',
      'skipped: a snapshot shows what its backend shows at the moment, while writers go on',
      'skipped: during a halt nothing changes, and changes go on after it',
      'skipped: a halt ends without a snapshot, and is over for good',
      'skipped: an abort ends a snapshot, also a halt, and changes go on',
      'skipped: a prepared snapshot shows the state when it is taken, and stops nobody before',
      'skipped: a prepared snapshot that is given up holds nobody up',
      'skipped: a snapshot tells what it leaves out, and can be released twice',
      'skipped: a snapshot stays as it was when the files change',
      'skipped: a snapshot that is made while files are written shows one moment',
      'skipped: a snapshot that is made while a folder is moved shows it once, and whole',
      'skipped: while the server is out of reach, each call says so, and afterwards all is as before',
      'skipped: a call of which one request fails says so, or does what it should',
      'skipped: a write whose server goes away meanwhile fails, and stores nothing',
      'skipped: a call to a silent server ends when its signal aborts',
      'skipped: a write whose server falls silent meanwhile ends when its signal aborts',
      'skipped: a close does not wait for a silent server',
      'skipped: a large file is never held in memory as a whole',
      'skipped: a watch gives hints of what another program changes',
      'skipped: an aborted watch gives no more hints, and a new one begins',
      'skipped: a storage has a name, which is the same after a close and a new start',
      'skipped: of several writes with `ifAbsent`, exactly one succeeds',
      'skipped: of several writes with the same `ifRevision`, exactly one succeeds',
      'skipped: of several removals of one file, exactly one succeeds',
      'skipped: of several moves of one file, exactly one succeeds',
      'skipped: of several moves to one free path, exactly one succeeds',
      'skipped: writes into a folder that is being removed leave whole files only',
      'skipped: with `onlyIfEmpty`, a file that is written meanwhile is not lost',
      'skipped: written files exist after a close and a new start',
      'skipped: revisions are not used again after a close and a new start',
      'skipped: a write that does not fit is refused and leaves nothing, and a removal frees its bytes',
      'skipped: writes that fail leave no bytes behind',
      'skipped: overwriting a file frees its old bytes',
    ],
  )
})

/** Yields all chunks in the same memory. */
function sharedMemory(): Partial<PaperBackend> {
  const shared = Buffer.alloc(100_000)
  return {
    async *chunks(_path, bytes) {
      for (let start = 0; start < bytes.length; start += shared.length) {
        const length = bytes.copy(shared, 0, start)
        yield shared.subarray(0, length)
      }
    },
  }
}

/** Ends a reading without an error when the backend is closed. */
function endingAtClose(backend: PaperBackend): PaperBackend['chunks'] {
  return async function* (_path, bytes) {
    for (let start = 0; start < bytes.length && !backend.closing.signal.aborted; start += 100_000)
      yield Uint8Array.from(bytes.subarray(start, start + 100_000))
  }
}

/** Yields the stored bytes themselves. */
async function* ownMemory(_path: string, bytes: Buffer): AsyncIterable<Uint8Array> {
  yield bytes
}

/** Counts all bytes that ever arrived as used. */
function countingAll(backend: PaperBackend): PaperBackend['checkLimit'] {
  let used = 0
  return (size) => {
    used += size
    if (used > backend.limit) backend.refuse('INSUFFICIENT_STORAGE')
  }
}

/** Counts revisions in memory only. */
function countFrom(first: number): () => string {
  let next = first
  return () => `${next++}`
}

const { fix, halt, halted } = PaperBackend.prototype
const never = new AbortController().signal

/** Moves the files of a folder one by one. */
function movedOneByOne(backend: PaperBackend): Partial<PaperBackend> {
  return {
    async rename(source, destination) {
      for (const [path, node] of [...backend.nodes]) {
        if (!backend.within(path, source)) continue
        backend.nodes.set(destination + path.slice(source.length), node)
        await setImmediate()
        backend.nodes.delete(path)
      }
    },
  }
}

/** Removes the files of a folder one by one, as an object store does. */
async function removeOneByOne(backend: PaperBackend, folder: string): Promise<void> {
  for (const path of [...backend.nodes.keys()].reverse()) {
    if (!backend.within(path, folder)) continue
    backend.nodes.delete(path)
    await setImmediate()
  }
}

/** Shows a copy before it is announced. */
function visibleTooEarly(backend: PaperBackend): Partial<PaperBackend> {
  return {
    async copy(source, destination, options) {
      backend.put(destination, backend.get(source))
      return PaperBackend.prototype.copy.call(backend, source, destination, options)
    },
  }
}

/** Fixes the state of a snapshot some time after the halt. */
function afterTheHalt(backend: PaperBackend): Partial<PaperBackend> {
  let held: Disposable | undefined
  return {
    async halt(signal) {
      held = await halt.call(backend, signal)
      return held
    },
    async fix() {
      held?.[Symbol.dispose]()
      for (let turn = 0; turn < 10; turn += 1) await setImmediate()
      return fix.call(backend)
    },
  }
}

/** Halts changes when a snapshot is prepared. */
function heldFromPreparation(backend: PaperBackend): Partial<PaperBackend> {
  return {
    async prepareSnapshot(signal) {
      const prepared = await PaperBackend.prototype.prepareSnapshot.call(backend, signal)
      const held = await backend.gate.halt(signal)
      return {
        ...prepared,
        halt() {
          held[Symbol.dispose]()
          return prepared.halt()
        },
      }
    },
  }
}

/** Halts nothing. */
const noHalt = async (): Promise<Disposable> => ({ [Symbol.dispose]() {} })

/** Makes a snapshot that copies entries one after the other while changes go on. */
function copiedOneByOne(
  backend: PaperBackend,
  order: 'first to last' | 'last to first',
): Partial<PaperBackend> {
  return {
    halt: noHalt,
    async fix() {
      const copy = new PaperBackend()
      const paths = [...backend.nodes.keys()].sort()
      if (order === 'last to first') paths.reverse()
      for (const path of paths) {
        const node = backend.nodes.get(path)
        if (node !== undefined) copy.nodes.set(path, node)
        await setImmediate()
      }
      return backend.view(copy)
    },
  }
}

/** Keeps a file with a revision of its own, and an empty folder in the place of a folder. */
function keptAsCopy(backend: PaperBackend): Partial<PaperBackend> {
  return {
    keep(path, { keepReplacedAt }) {
      const node = backend.nodes.get(path)
      if (keepReplacedAt !== undefined && node !== undefined)
        backend.put(keepReplacedAt, { ...node, revision: randomUUID() })
    },
  }
}

/** Keeps the file that was there when the content of a write began to arrive. */
function keptEarly(backend: PaperBackend, keepsAt: 'begin' | 'end'): Partial<PaperBackend> {
  const found = new Map<string, PaperNode>()
  return {
    async receive(path, content, options) {
      const { keepReplacedAt } = options
      const node = backend.nodes.get(path)
      if (keepReplacedAt !== undefined && node !== undefined) {
        found.set(keepReplacedAt, node)
        if (keepsAt === 'begin') backend.put(keepReplacedAt, node)
      }
      return PaperBackend.prototype.receive.call(backend, path, content, options)
    },
    keep(_path, { keepReplacedAt = '' }) {
      const node = found.get(keepReplacedAt)
      if (node !== undefined) backend.put(keepReplacedAt, node)
    },
  }
}

/** The faults, each with the name of a test that must find it and the replaced methods of the backend. */
const faults: [found: RegExp, fault: (backend: PaperBackend) => Partial<PaperBackend>][] = [
  [/any size/, () => ({ checkEarly: () => {}, range: (bytes) => bytes.subarray(0, 1_000_000) })],
  [/a range returns/, () => ({ range: (bytes, start, end) => bytes.subarray(start, end) })],
  [
    /not within the file/,
    (backend) => ({
      async read(path, options = {}) {
        const bytes = backend.get(path).bytes ?? backend.refuse('CONFLICT')
        return {
          entry: backend.entry(path, backend.get(path)),
          content: backend.chunks(path, bytes, options),
        }
      },
    }),
  ],
  [/any size|several can read/, sharedMemory],
  [/reuseBuffers/, sharedMemory],
  [
    /two versions mixed/,
    (backend) => ({
      async *chunks(path) {
        for (let start = 0; ; start += 100_000) {
          const { bytes } = backend.get(path)
          const chunk = bytes?.subarray(start, start + 100_000) ?? Buffer.alloc(0)
          if (chunk.length === 0) return
          yield chunk
        }
      },
    }),
  ],
  [
    /begins after a name/,
    (backend) => ({ list: (path: string) => PaperBackend.prototype.list.call(backend, path) }),
  ],
  [/sorted by UTF-16/, () => ({ sort: (paths) => paths.sort((a, b) => a.localeCompare(b)) })],
  [
    /sorted by UTF-16/,
    () => ({ sort: (paths) => paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))) }),
  ],
  [/as `stat` returns them/, () => ({ listed: (entry) => ({ ...entry, modified: new Date(0) }) })],
  [/as `stat` returns them/, () => ({ listed: (entry) => ({ ...entry, created: new Date(0) }) })],
  [/as `stat` returns them/, () => ({ listed: (entry) => ({ ...entry, revision: 'stale' }) })],
  [/as `stat` returns them/, () => ({ listed: (entry) => sparse(entry, '') })],
  [/of all files, or of none/, () => ({ listed: (entry) => (entry.size > 0 ? entry : sparse(entry, 'x')) })],
  [/whether the content of a file changed/, () => ({ listed: (entry) => sparse(entry, `${entry.size}`) })],
  [/whether the content of a file changed/, () => ({ listed: (entry) => sparse(entry, randomUUID()) })],
  [
    /more entries than a page/,
    (backend) => ({
      async *list(path) {
        yield* (await Array.fromAsync(PaperBackend.prototype.list.call(backend, path))).slice(0, 1000)
      },
    }),
  ],
  [
    /more entries than a page/,
    (backend) => ({
      async remove(path) {
        const within = [...backend.nodes.keys()].filter((other) => backend.within(other, path))
        for (const other of within.slice(0, 1000)) backend.nodes.delete(other)
      },
    }),
  ],
  [
    /more entries than a page/,
    (backend) => ({
      rename(source, destination) {
        PaperBackend.prototype.rename.call(backend, source, destination)
        for (const other of [...backend.nodes.keys()].slice(1002)) backend.nodes.delete(other)
      },
    }),
  ],
  [
    /names stay as they are/,
    (backend) => ({
      put: (path, node) =>
        PaperBackend.prototype.put.call(
          backend,
          path.replaceAll(/[\ue000-\ue7ff]/g, (unit) => String.fromCharCode(unit.charCodeAt(0) - 0x800)),
          node,
        ),
    }),
  ],
  [/entries of its folder only/, () => ({ parent: (path) => `/${path.split('/').slice(1, -1)[0] ?? ''}` })],
  [/and nothing else/, () => ({ within: (path, folder) => path.startsWith(folder) })],
  [/changes the revision/, () => ({ revision: (bytes) => `size-${bytes.length}` })],
  [/that revision only/, () => ({ check: () => {} })],
  [
    /removes no folder/,
    (backend) => ({
      checkVersion: ({ revision }, ifRevision) =>
        revision === ifRevision ? undefined : backend.refuse('PRECONDITION_FAILED'),
    }),
  ],
  [/exactly one succeeds/, () => ({ checkLate: () => {} })],
  [/checked at the last step/, () => ({ checkLate: () => {} })],
  [
    /of several removals of one file/,
    (backend) => ({ remove: async (path) => void backend.nodes.delete(path) }),
  ],
  [
    /error of the content/,
    (backend) => ({
      async receive(path, content) {
        const chunks: Uint8Array[] = []
        for await (const chunk of content) {
          chunks.push(chunk)
          backend.put(path, { bytes: Buffer.concat(chunks), revision: 'early', ...backend.dates({}) })
        }
        return Buffer.concat(chunks)
      },
    }),
  ],
  [/content is silent/, () => ({ interruptible: (content) => content })],
  [/aborted before it began/, () => ({ interruptible: (content) => content })],
  [/fewer or more/, () => ({ checkSize: () => {}, checkNotLonger: () => {} })],
  [/goes on after the announced/, () => ({ checkNotLonger: () => {} })],
  [
    /leaves no folders behind/,
    (backend) => ({
      checkEarly(path) {
        backend.folder(backend.parent(path))
      },
    }),
  ],
  [/as if the file were shorter/, (backend) => ({ chunks: endingAtClose(backend) })],
  [/revisions are not used again/, () => ({ revision: countFrom(1) })],
  [/are the time of its write/, () => ({ dates: () => ({ modified: new Date(0), created: new Date(0) }) })],
  [
    /changes `modified`/,
    (backend) => ({
      put(path, node) {
        const { modified } = backend.nodes.get(path) ?? node
        PaperBackend.prototype.put.call(backend, path, { ...node, modified })
      },
    }),
  ],
  [
    /keeps the time that `modified` sets/,
    () => ({ dates: () => ({ modified: new Date(), created: new Date() }) }),
  ],
  [/keeps the time that `modified` sets/, () => ({ revision: (bytes) => `size-${bytes.length}` })],
  [
    /time in the future/,
    () => ({ dates: ({ modified = new Date() }) => ({ modified, created: new Date() }) }),
  ],
  [
    /a time that the storage cannot keep/,
    () => ({
      dates({ modified = new Date() }) {
        const first32Bits = new Date(-(2 ** 31) * 1000)
        return { modified: modified < first32Bits ? first32Bits : modified, created: new Date() }
      },
    }),
  ],
  [/may change and keep its chunks/, () => ({ chunks: ownMemory })],
  [
    /a write that fails leaves no bytes|leave no bytes behind/,
    (backend) => ({ checkLimit: countingAll(backend) }),
  ],
  [/frees its old bytes/, (backend) => ({ checkLimit: countingAll(backend) })],
  [/has its code/, (backend) => ({ checkFolders: () => void backend })],
  [
    /when `beforeCommit` rejects/,
    () => ({
      announce: async (staged, { beforeCommit }) => beforeCommit?.(staged).catch(() => {}),
    }),
  ],
  [
    /not visible yet/,
    () => ({
      async announce(staged, { beforeCommit }) {
        await beforeCommit?.(staged)
        await beforeCommit?.(staged)
      },
    }),
  ],
  [
    /not visible yet/,
    () => ({
      announce: async (staged, { beforeCommit }) => beforeCommit?.({ ...staged, revision: 'other' }),
    }),
  ],
  [/will be replaced/, () => ({ replaced: () => null })],
  [
    /will be replaced/,
    (backend) => ({ replaced: () => PaperBackend.prototype.replaced.call(backend, '/folder/other') }),
  ],
  [
    /never calls `beforeCommit`/,
    (backend) => ({
      async receive(_path, content, { beforeCommit }) {
        await beforeCommit?.({ revision: 'x', size: 0, replaced: null })
        return PaperBackend.prototype.receive.call(backend, _path, content, {})
      },
    }),
  ],
  [/replaces files and folders whole/, () => ({ removeReplaced: () => {} })],
  [
    /replaces nothing without/,
    (backend) => ({
      move: (source, destination) =>
        PaperBackend.prototype.move.call(backend, source, destination, { overwrite: true }),
    }),
  ],
  [/during an atomic move/, movedOneByOne],
  [/a moved folder is seen/, movedOneByOne],
  [/gone with all its files at once/, (backend) => ({ remove: (path) => removeOneByOne(backend, path) })],
  [
    /replaces another one is seen whole/,
    (backend) => ({ removeReplaced: (path) => removeOneByOne(backend, path) }),
  ],
  [
    /has the bytes of its source/,
    (backend) => ({ revision: (bytes) => backend.nodes.get('/from/file')?.revision ?? `of ${bytes.length}` }),
  ],
  [
    /has the bytes of its source/,
    (backend) => ({
      async copy(source, destination, options) {
        const entry = await PaperBackend.prototype.copy.call(backend, source, destination, options)
        backend.nodes.delete(source)
        return entry
      },
    }),
  ],
  [/under the conditions of a write/, () => ({ check: () => {} })],
  [
    /copies that revision only/,
    (backend) => ({ copied: (path) => PaperBackend.prototype.copied.call(backend, path, {}) }),
  ],
  [/`beforeCommit` of a copy/, () => ({ announce: async () => {} })],
  [/`beforeCommit` of a copy/, visibleTooEarly],
  [/a copy ends without effect/, visibleTooEarly],
  [
    /a copy ends without effect/,
    () => ({ announce: async (staged, { beforeCommit }) => beforeCommit?.(staged).catch(() => {}) }),
  ],
  [/a copy that is not possible/, () => ({ copied: () => Buffer.from('a folder') })],
  [/a copy keeps the time/, () => ({ dates: () => ({ modified: new Date(), created: new Date() }) })],
  [
    /exists at every moment/,
    (backend) => ({
      async removeReplaced(path) {
        backend.nodes.delete(path)
        await setImmediate()
      },
    }),
  ],
  [
    /keeps the revisions/,
    (backend) => ({
      rename(source, destination) {
        PaperBackend.prototype.rename.call(backend, source, destination)
        for (const [path, node] of backend.nodes) backend.nodes.set(path, { ...node, revision: `of ${path}` })
      },
    }),
  ],
  [
    /the root cannot be removed/,
    (backend) => ({
      async remove(path) {
        backend.get(path)
        for (const other of backend.nodes.keys()) if (other.startsWith(path)) backend.nodes.delete(other)
      },
    }),
  ],
  [/stays while anything is in it/, () => ({ checkEmpty: () => {} })],
  [/only an existing folder/, () => ({ checkEmpty: () => {} })],
  [/every call fails with/, () => ({ checkOpen: () => {} })],
  [/without an end/, () => ({ close: async () => {} })],
  [/a write keeps/, () => ({ keep() {} })],
  [/a write with a condition keeps/, keptAsCopy],
  [/a copy keeps the file/, keptAsCopy],
  [/a move of a file keeps/, keptAsCopy],
  [/a move keeps the folder/, keptAsCopy],
  [/a folder for a file/, keptAsCopy],
  [
    /where nothing is replaced/,
    (backend) => ({
      keep: (_path, { keepReplacedAt }) => void (keepReplacedAt && backend.folder(keepReplacedAt)),
    }),
  ],
  [/a change that is not made keeps nothing/, (backend) => keptEarly(backend, 'begin')],
  [/finds the file at its path/, (backend) => keptEarly(backend, 'begin')],
  [/each former content is kept once/, (backend) => keptEarly(backend, 'end')],
  [
    /a snapshot has what was kept/,
    (backend) => ({
      view: (copy) => {
        copy.erase('/kept', {})
        return PaperBackend.prototype.view.call(backend, copy)
      },
    }),
  ],
  [
    /a snapshot stays as it was/,
    (backend) => ({
      fix: async () => ({
        omitted: [],
        changed: [],
        list: (path: string) => backend.entriesOf(path),
        read: (path: string) => backend.read(path),
        release: async () => {},
      }),
    }),
  ],
  [
    /shows what its backend shows/,
    (backend) => ({
      async fix() {
        await backend.erase('/0/0', {})
        return fix.call(backend)
      },
    }),
  ],
  [/shows what its backend shows/, afterTheHalt],
  [/during a halt nothing changes/, () => ({ halt: noHalt })],
  [/changes go on after it/, () => ({ goOn() {} })],
  [/ends without a snapshot/, () => ({ goOn() {} })],
  [
    /is over for good/,
    (backend) => ({
      halted: (...args) => ({ ...halted.apply(backend, args), fix: () => fix.call(backend) }),
    }),
  ],
  [/an abort ends a snapshot/, () => ({ onAbort() {} })],
  [/an abort ends a snapshot/, (backend) => ({ halt: () => halt.call(backend, never) })],
  [
    /shows the state when it is taken/,
    (backend) => ({
      async prepareSnapshot(signal) {
        const prepared = await PaperBackend.prototype.prepareSnapshot.call(backend, signal)
        const copy = Object.assign(new PaperBackend(), { nodes: new Map(backend.nodes) })
        return {
          ...prepared,
          halt: async () => ({ ...(await prepared.halt()), fix: async () => backend.view(copy) }),
        }
      },
    }),
  ],
  [/stops nobody before/, heldFromPreparation],
  [/given up/, heldFromPreparation],
  [
    /given up/,
    (backend) => ({
      async prepareSnapshot(signal) {
        const late = async () => halted.call(backend, await halt.call(backend, signal), signal)
        return { halt: late, release: async () => {} }
      },
    }),
  ],
  [
    /tells what it leaves out/,
    (backend) => ({
      view: (copy) => ({
        ...PaperBackend.prototype.view.call(backend, copy),
        omitted: [{ what: '/', why: '' }],
      }),
    }),
  ],
  [/while files are written/, (backend) => copiedOneByOne(backend, 'first to last')],
  [/while files are written/, (backend) => copiedOneByOne(backend, 'last to first')],
  [/while a folder is moved/, (backend) => copiedOneByOne(backend, 'first to last')],
  [/while a folder is moved/, (backend) => copiedOneByOne(backend, 'last to first')],
  [
    /gives hints/,
    (backend) => ({
      changed(path) {
        if (backend.nodes.has(path)) PaperBackend.prototype.changed.call(backend, path)
      },
    }),
  ],
  [/gives hints/, () => ({ changed() {} })],
  [
    /aborted watch/,
    (backend) => ({ watch: (listener) => PaperBackend.prototype.watch.call(backend, listener, never) }),
  ],
  [/storage has a name/, () => ({ storageId: async () => randomUUID() })],
  [/room of a storage/, ({ limit }) => ({ space: async () => ({ free: limit, total: limit }) })],
  [/room of a storage/, ({ limit }) => ({ space: async () => ({ free: 0, total: limit }) })],
  [/does not fit/, () => ({ checkLimit: () => {} })],
  [
    /exist after a close/,
    (backend) => ({
      async close() {
        backend.nodes.delete('/folder/file')
        backend.closing.abort(new Error('closed'))
      },
    }),
  ],
  [
    /is an error/,
    () => ({
      refuse() {
        throw new Error('ENOENT: no such file or directory')
      },
    }),
  ],
]

test('The suite finds each fault of a backend', async (t) => {
  // If a fault makes a call endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  await Promise.all(
    faults.map(async ([found, fault]) => {
      const { all, failed } = await run(found, () => {
        const backend = new PaperBackend()
        return Object.assign(backend, fault(backend))
      })
      t.ok(failed > 0, `${failed} of ${all} tests that match ${found} found the fault.`)
    }),
  )
})

test('The suite finds a backend that lists one page only, whatever the page size of its harness is', async (t) => {
  const outcomesOf = async (pageEntries: number, listed: number) => {
    const create = () => {
      const backend = new PaperBackend()
      return Object.assign(backend, {
        async *list(path: string) {
          yield* (await Array.fromAsync(PaperBackend.prototype.list.call(backend, path))).slice(0, listed)
        },
      })
    }
    const harness = { ...harnessOf(create), pageEntries }
    const outcomes = await runSuite((add) => storageConformance(add, harness), /more entries than a page/)
    return outcomes.map(({ outcome }) => outcome)
  }
  for (const pageEntries of [1, 20]) {
    t.strictSame(await outcomesOf(pageEntries, pageEntries), ['failed'])
    t.strictSame(await outcomesOf(pageEntries, pageEntries + 1), ['passed'])
  }
})

// One after the other, and apart from the other faults: the suite measures the memory of the whole process.
test('The suite finds a backend that holds a large file in memory', async (t) => {
  const mutants: Record<string, (backend: PaperBackend) => Partial<PaperBackend>> = {
    'the chunks are collected before they are stored': (backend) => ({
      async receive(path, content, options) {
        const chunks = await Array.fromAsync(content)
        return PaperBackend.prototype.receive.call(backend, path, Readable.from(chunks), options)
      },
    }),
    'the file is read whole before its first chunk': (backend) => ({
      chunks: (path, bytes, options) =>
        PaperBackend.prototype.chunks.call(backend, path, Buffer.from(bytes), options),
    }),
    'the chunks that were read are kept': (backend) => ({
      async *chunks(...reading) {
        const chunks: Uint8Array[] = []
        for await (const chunk of PaperBackend.prototype.chunks.apply(backend, reading)) {
          chunks.push(chunk)
          yield chunk
        }
        return chunks
      },
    }),
  }
  for (const [fault, mutant] of Object.entries(mutants)) {
    const { failed } = await run(/never held in memory/, () => {
      const backend = new PaperBackend()
      return Object.assign(backend, mutant(backend))
    })
    t.equal(failed, 1, fault)
  }
})
