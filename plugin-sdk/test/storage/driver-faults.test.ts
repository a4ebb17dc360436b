import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import {
  createStorageBackend,
  NodekeepError,
  type StorageBackend,
  type StorageDriverWriteOptions,
} from '@nodekeep/plugin-sdk'
import { type StorageHarness, storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { runSuite } from '../conformance/fixtures/suite-run.ts'
import { GatedDriver, PaperDriver } from './fixtures/paper-driver.ts'

function harnessOf(create: () => PaperDriver, timeLimitMs = 30_000): StorageHarness {
  const drivers = new WeakMap<StorageBackend, PaperDriver>()
  const open = (driver: PaperDriver) => {
    const backend = createStorageBackend(driver, { timeLimitMs })
    drivers.set(backend, driver)
    return backend
  }
  const outage = (kind: 'unreachable' | 'stalled') => async (backend: StorageBackend) => {
    const driver = drivers.get(backend) as PaperDriver
    driver.outage = kind
    return async () => {
      driver.outage = null
    }
  }
  return {
    server: {
      unreachable: outage('unreachable'),
      stall: outage('stalled'),
      async failOnce(backend, skip) {
        const driver = drivers.get(backend) as PaperDriver
        driver.failsAfter = skip
        return async () => {
          driver.failsAfter = null
        }
      },
    },
    bytesInMemory: (backend) => drivers.get(backend)?.used ?? 0,
    create: async () => open(create()),
    createSmall: async () => open(Object.assign(create(), { limit: 1024 * 1024 })),
    reopen: async (closed) => open(Object.assign(create(), { files: drivers.get(closed)?.files })),
  }
}

storageConformance(
  test,
  harnessOf(() => new GatedDriver()),
)

test('A driver that does not prepare its snapshots passes the suite', async (t) => {
  const create = () => new PaperDriver()
  // The other checks run the same code of both drivers.
  const ofSnapshots = /snapshot|halt|`beforeCommit`|abort|close|write/
  const outcomes = await runSuite((add) => storageConformance(add, harnessOf(create)), ofSnapshots)
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome === 'failed'),
    [],
  )
})

test('Drivers that move only files, and that move nothing, pass the suite, which tells what it skips', async (t) => {
  const ofMoves =
    /move|made|stay as they are|two versions|than a page|has its code|`modified`|halt|snapshot|kept|keeps/
  const skippedOf = async (abilities: object) => {
    const create = () => Object.assign(new PaperDriver(), { supports: { modified: true }, ...abilities })
    const outcomes = await runSuite((add) => storageConformance(add, harnessOf(create)), ofMoves)
    t.strictSame(
      outcomes.filter(({ outcome }) => outcome === 'failed'),
      [],
    )
    return outcomes.flatMap(({ outcome, name }) =>
      outcome === 'skipped' && /move/.test(name) && !/remove/.test(name) ? [name] : [],
    )
  }
  const ofFolders = [
    'a folder moves with its whole content, and nothing else',
    'a folder can move to a name that begins with its own name',
    'a move with `overwrite` replaces files and folders whole',
    'a moved folder is seen at exactly one of the two paths, with all its files',
    'a move keeps the folder that it replaces, whole',
    'a move keeps a folder for a file, and a file for a folder',
    'a snapshot that is made while a folder is moved shows it once, and whole',
  ]
  const ofConditions = [
    'of several moves of one file, exactly one succeeds',
    'of several moves to one free path, exactly one succeeds',
  ]
  t.strictSame(await skippedOf({}), [...ofFolders, ...ofConditions])
  const ofNothing = await skippedOf({ move: undefined })
  t.strictSame(
    ofNothing.filter((name) => !ofFolders.includes(name) && !ofConditions.includes(name)),
    [
      'a moved file is at its new path only',
      'a move replaces nothing without `overwrite`',
      'a move with `overwrite` replaces a file',
      'a missing path, the root, and a folder into itself cannot be moved',
      'a move keeps the dates of files',
      'an atomic move keeps the revisions of the moved files',
      'during an atomic move, the file is seen at exactly one of the two paths',
      'a file that an atomic move replaces exists at every moment',
      'a move of a file keeps the file that it replaces',
    ],
  )
})

test('A driver that gives the whole file in one piece passes the suite', async (t) => {
  const create = () => {
    const driver = new PaperDriver()
    const open: PaperDriver['open'] = async (path) => ({
      entry: await driver.stat(path),
      content: Uint8Array.from(driver.files.get(path)?.bytes ?? []),
      start: 0,
    })
    return Object.assign(driver, { open })
  }
  const ofReadings = /read|range|size|chunk|copy|snapshot/
  const outcomes = await runSuite((add) => storageConformance(add, harnessOf(create)), ofReadings)
  t.ok(outcomes.length > 15)
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome === 'failed'),
    [],
  )
})

type Fault = readonly [
  fault: string,
  check: RegExp,
  replaced: (driver: GatedDriver) => Partial<Record<keyof GatedDriver, unknown>>,
]

const original = GatedDriver.prototype
const never = new AbortController().signal

/** Faults that authors of drivers make, each with the name of the check that has to find it. */
const faults: readonly Fault[] = [
  [
    'a range begins one byte late',
    /a range returns/,
    () => ({
      chunks: (bytes: Buffer, start: number, path: string) => original.chunks(bytes, start + 1, path),
    }),
  ],
  [
    'a range is ignored, and the reading does not say so',
    /a range returns/,
    () => ({ chunks: (bytes: Buffer, _start: number, path: string) => original.chunks(bytes, 0, path) }),
  ],
  [
    'a reading yields what is at the path now',
    /two versions mixed/,
    (driver) => ({
      async *chunks(_bytes: Buffer, start: number, path: string) {
        for (let position = start; ; position += 100_000) {
          const chunk = driver.files.get(path)?.bytes?.subarray(position, position + 100_000)
          if (chunk === undefined || chunk.length === 0) return
          yield Uint8Array.from(chunk)
        }
      },
    }),
  ],
  [
    'a reading ends before the end of the file',
    /any size/,
    () => ({
      async *chunks(bytes: Buffer, start: number) {
        yield Uint8Array.from(bytes.subarray(start, start + 1_000_000))
      },
    }),
  ],
  ['revisions count from 1 at each start', /revisions are not used again/, () => ({ revision: counter() })],
  [
    'revisions are the same for the same path',
    /changes the revision/,
    () => ({ revision: (path: string) => `of-${Buffer.byteLength(path)}` }),
  ],
  [
    '`modified` is the date of creation',
    /changes `modified`/,
    (driver) => ({
      put(path: string, bytes: Buffer | null, revision?: string, modified?: Date) {
        original.put.call(driver, path, bytes, revision, modified ?? driver.files.get(path)?.modified)
      },
    }),
  ],
  [
    '`modified` is announced and ignored',
    /keeps the time that `modified` sets/,
    (driver) => ({
      put: (path: string, bytes: Buffer | null, revision?: string) =>
        original.put.call(driver, path, bytes, revision),
    }),
  ],
  [
    'a move sets new dates',
    /a move keeps the dates/,
    (driver) => ({
      async move(...call: Parameters<PaperDriver['move']>) {
        await original.move.apply(driver, call)
        for (const [path, file] of driver.files) driver.files.set(path, { ...file, modified: new Date(0) })
      },
    }),
  ],
  [
    'a copy does not keep the revision of the file that is about to be replaced',
    /a write keeps the file/,
    (driver) => ({
      supports: { modified: true },
      prepareSnapshot: undefined,
      copy: (...[source, destination, { kept, ...options }]: Parameters<PaperDriver['copy']>) =>
        original.copy.call(driver, source, destination, options),
    }),
  ],
  [
    'changes go on during a halt',
    /during a halt nothing changes/,
    (driver) => ({
      halt: async () => ({ fix: () => driver.snapshot(), async [Symbol.asyncDispose]() {} }),
    }),
  ],
  [
    'a write announces its commit during a halt',
    /during a halt nothing changes/,
    (driver) => ({
      announce: async () => {},
      async write(path: string, content: AsyncIterable<Uint8Array>, options: StorageDriverWriteOptions) {
        const chunks = await Array.fromAsync(content)
        await options.beforeCommit({ revision: 'early' })
        return original.write.call(driver, path, Readable.from(chunks), options)
      },
    }),
  ],
  [
    'a snapshot is taken when changes go on again',
    /what its backend shows at the moment/,
    (driver) => ({
      async halt(signal: AbortSignal) {
        const halted = await original.halt.call(driver, signal)
        return {
          ...halted,
          async fix() {
            await halted[Symbol.asyncDispose]()
            for (let turn = 0; turn < 10; turn += 1) await setImmediate()
            return driver.snapshot()
          },
        }
      },
    }),
  ],
  ['the bytes of failed writes stay', /leave no bytes behind/, () => ({ drop: () => {} })],
  ['the bytes of overwritten files stay', /frees its old bytes/, () => ({ release: () => {} })],
  [
    'parents are made before the content is there',
    /leaves no folders behind/,
    (driver) => ({
      write(...args: Parameters<PaperDriver['write']>) {
        driver.makeFolder(driver.parent(args[0]))
        return original.write.apply(driver, args)
      },
    }),
  ],
  [
    'the file is visible while it arrives',
    /error of the content/,
    (driver) => ({
      write(...args: Parameters<PaperDriver['write']>) {
        driver.put(args[0], Buffer.alloc(0), 'early')
        return original.write.apply(driver, args)
      },
    }),
  ],
  ['`beforeCommit` is not called', /while the file is not visible yet/, () => ({ announce: async () => {} })],
  [
    '`beforeCommit` is not waited for',
    /when `beforeCommit` rejects/,
    () => ({
      announce: async (
        { beforeCommit }: { beforeCommit(staged: object): Promise<void> },
        revision: string,
      ) => {
        beforeCommit({ revision }).catch(() => {})
      },
    }),
  ],
  [
    '`beforeCommit` is told another revision',
    /while the file is not visible yet/,
    () => ({
      announce: ({ beforeCommit }: { beforeCommit(staged: object): Promise<void> }) =>
        beforeCommit({ revision: 'another' }),
    }),
  ],
  [
    'a listing is sorted by language',
    /sorted by UTF-16/,
    () => ({ sort: (paths: string[]) => paths.sort((a, b) => a.localeCompare(b)) }),
  ],
  [
    'a folder includes names that begin like it',
    /and nothing else/,
    () => ({ isWithin: (path: string, folder: string) => path.startsWith(folder) }),
  ],
  [
    'a move merges into the folder that it replaces',
    /replaces files and folders whole/,
    (driver) => ({
      async move(...call: Parameters<PaperDriver['move']>) {
        const kept = new Map([...driver.files].filter(([path]) => path.startsWith(`${call[1]}/`)))
        await original.move.apply(driver, call)
        for (const [path, file] of kept) driver.files.set(path, file)
      },
    }),
  ],
  [
    'a full storage is any error',
    /does not fit/,
    (driver) => ({
      use(bytes: number) {
        driver.used += bytes
        if (driver.used > driver.limit) throw new Error('ENOSPC')
      },
    }),
  ],
  [
    'a listing has only the first page',
    /more entries than a page/,
    (driver) => ({
      async *list(path: string) {
        let told = 0
        for await (const entry of original.list.call(driver, path)) {
          told += 1
          if (told <= 1000) yield entry
        }
      },
    }),
  ],
  [
    'a removal removes only the first page',
    /more entries than a page/,
    (driver) => ({
      erase(path: string) {
        const within = [...driver.files.keys()].filter((other) => driver.isWithin(other, path))
        for (const other of within.slice(0, 1000)) driver.files.delete(other)
      },
    }),
  ],
  [
    'keys turn characters of private use into halves of others',
    /names stay as they are/,
    (driver) => ({
      put: (path: string, ...rest: [Buffer | null, string?, Date?]) =>
        original.put.call(
          driver,
          path.replaceAll(/[\ue000-\ue7ff]/g, (unit) => String.fromCharCode(unit.charCodeAt(0) - 0x800)),
          ...rest,
        ),
    }),
  ],
  [
    'a move moves only the first page',
    /more entries than a page/,
    (driver) => ({
      async move(...[source, destination, options]: Parameters<PaperDriver['move']>) {
        await original.move.call(driver, source, destination, options)
        for (const path of [...driver.files.keys()].slice(1002)) driver.files.delete(path)
      },
    }),
  ],
  [
    'a listing that fails is empty',
    /out of reach/,
    (driver) => ({
      async *list(...call: Parameters<PaperDriver['list']>) {
        if (driver.outage === null) yield* original.list.apply(driver, call)
      },
      stat: (path: string) => original.stat.call(driver, path),
    }),
  ],
  [
    'each failure is that of a missing file',
    /out of reach/,
    (driver) => ({
      async request() {
        if (driver.outage !== null) throw new NodekeepError('NOT_FOUND', 'There is nothing.')
      },
    }),
  ],
  [
    'a write that fails is told as stored',
    /goes away meanwhile/,
    (driver) => ({
      async write(...[path, content, options]: Parameters<PaperDriver['write']>) {
        try {
          return await original.write.call(driver, path, content, options)
        } catch {
          return original.stat.call(driver, '/')
        }
      },
    }),
  ],
  [
    'calls wait for a silent server whatever their signals say',
    /silent server ends/,
    (driver) => ({ request: () => (driver.outage === null ? Promise.resolve() : new Promise(() => {})) }),
  ],
  [
    'a write waits for a silent server whatever its signal says',
    /falls silent meanwhile/,
    (driver) => ({
      write: (...[path, content, options]: Parameters<PaperDriver['write']>) =>
        original.write.call(driver, path, content, { ...options, signal: never }),
    }),
  ],
  [
    'a read waits for a silent server whatever its signal says',
    /silent server ends/,
    (driver) => ({
      open: (...[path, options]: Parameters<PaperDriver['open']>) =>
        original.open.call(driver, path, { ...options, signal: never }),
    }),
  ],
  [
    'files are kept in memory until the close',
    /exist after a close/,
    (driver) => ({
      async close() {
        for (const path of driver.files.keys()) if (path.startsWith('/folder/')) driver.files.delete(path)
      },
    }),
  ],
]

function counter(): () => string {
  let count = 0
  return () => `${++count}`
}

test('A wrong error is told with its cause, which a backend hides from its callers', async (t) => {
  const broken = 'TypeError: content is not async iterable'
  const create = () => {
    const driver = new GatedDriver()
    const change = async (...call: readonly unknown[]) => {
      if (call.length > 0) throw new TypeError('content is not async iterable')
    }
    return Object.assign(driver, {
      supports: { atomicConditions: true, atomicFolders: true },
      remove: change,
      move: change,
      write: (...call: Parameters<PaperDriver['write']>) =>
        call[2].ifAbsent || call[2].ifRevision !== undefined
          ? change(...call)
          : original.write.apply(driver, call),
    }) as GatedDriver
  }
  const told = /exactly one succeeds|^a missing path/
  const outcomes = await runSuite((add) => storageConformance(add, harnessOf(create)), told)
  t.equal(outcomes.length, 7)
  for (const { name, outcome, reason } of outcomes) {
    if (outcome === 'skipped') continue
    t.equal(outcome, 'failed', name)
    t.match(reason, `The storage does not work now. Try again later., because of ${broken}`, name)
  }
})

test('The suite finds each fault of a driver', async (t) => {
  // If a fault makes a call endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  await Promise.all(
    faults.map(async ([fault, check, replaced]) => {
      const create = () => {
        const driver = new GatedDriver()
        return Object.assign(driver, replaced(driver)) as GatedDriver
      }
      // A close waits for the calls of a fault that listens to no signal.
      const harness = harnessOf(create, 3 * timeLimit.ms)
      const outcomes = await runSuite((add) => storageConformance(add, harness), check)
      t.ok(
        outcomes.some(({ outcome }) => outcome === 'failed'),
        `${fault}: a check that matches ${check} finds it.`,
      )
    }),
  )
})
