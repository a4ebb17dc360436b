import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import {
  createStorageBackend,
  type FlatPageOptions,
  type FlatStore,
  flatDriver,
  heldBack,
  type StorageBackend,
  type StorageEntry,
  type StorageStaged,
} from '@nodekeep/plugin-sdk'
import {
  type ConformanceTest,
  type StorageHarness,
  storageConformance,
} from '@nodekeep/plugin-sdk/conformance/storage'
import * as fc from 'fast-check'
import { type Test, test } from 'tap'
import { runSuite } from '../conformance/fixtures/suite-run.ts'
import { FlatServer, pageEntries } from './fixtures/flat-server.ts'
import { httpStore, objectOf, queryOf } from './fixtures/http-store.ts'
import { chunks } from './fixtures/paper-driver.ts'

const { signal } = new AbortController()
const mebibyte = 1024 * 1024
const servers = new WeakMap<StorageBackend, FlatServer>()

function serverOf(backend: StorageBackend): FlatServer {
  return servers.get(backend) as FlatServer
}

function open(server: FlatServer, conditionalWrites: boolean): StorageBackend {
  const backend = createStorageBackend(flatDriver(httpStore(server.url, conditionalWrites)))
  servers.set(backend, server)
  return backend
}

function outage(state: 'unreachable' | 'stalled') {
  return async (backend: StorageBackend) => {
    const server = serverOf(backend)
    server.outage = state
    return async () => {
      server.outage = null
    }
  }
}

async function failOnce(backend: StorageBackend, skip: number) {
  const server = serverOf(backend)
  server.failsAfter = skip
  return async () => {
    server.failsAfter = null
  }
}

for (const [what, conditionalWrites, listsMetadata] of [
  ['with conditional writes', true, false],
  ['without conditional writes, whose pages tell revisions', false, true],
] as const) {
  const register: ConformanceTest = (name, run) => {
    // Much work that is the same for both.
    const isLong = /more entries than a page|listed exactly once|large file|whatever characters/.test(name)
    if (conditionalWrites || !isLong) void test(`of a store ${what}: ${name}`, run)
  }
  storageConformance(register, {
    server: { unreachable: outage('unreachable'), failOnce, stall: outage('stalled') },
    create: async () => open(await new FlatServer({ listsMetadata }).listen(), conditionalWrites),
    createSmall: async () => open(await new FlatServer({ maxBytes: mebibyte }).listen(), conditionalWrites),
    reopen: async (closed) => open(serverOf(closed), conditionalWrites),
    bytesInMemory: (backend) => serverOf(backend).bytesInMemory,
    pageEntries,
    destroy: (closed) => serverOf(closed).stop(),
  })
}

/** Takes each failure for a missing object. */
async function nullIfFailed<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  return answer.catch(() => null)
}

test('The suite finds a store that takes a failed request for a missing object, or for done', async (t) => {
  const faults: [fault: string, faulty: (store: FlatStore) => Partial<FlatStore>][] = [
    ['none', () => ({})],
    ['head', (store) => ({ head: (...call) => nullIfFailed(store.head(...call)) })],
    ['get', (store) => ({ get: (...call) => nullIfFailed(store.get(...call)) })],
    ['delete', (store) => ({ delete: (...call) => store.delete(...call).catch(() => {}) })],
  ]
  const found: string[] = []
  for (const [fault, faulty] of faults) {
    const harness: StorageHarness = {
      server: { unreachable: outage('unreachable'), failOnce, stall: outage('stalled') },
      async create() {
        const server = await new FlatServer().listen()
        const store = httpStore(server.url, true)
        const backend = createStorageBackend(flatDriver({ ...store, ...faulty(store) }))
        servers.set(backend, server)
        return backend
      },
      destroy: (closed) => serverOf(closed).stop(),
    }
    const outcomes = await runSuite((add) => storageConformance(add, harness), /of which one request fails/)
    if (outcomes.some(({ outcome }) => outcome === 'failed')) found.push(fault)
  }
  t.strictSame(found, ['head', 'get', 'delete'])
})

async function serve(t: Test, conditionalWrites: boolean) {
  const server = await new FlatServer({ listsMetadata: true }).listen()
  const backend = open(server, conditionalWrites)
  t.teardown(async () => {
    await backend.close()
    await server.stop()
  })
  return { server, backend }
}

async function names(backend: StorageBackend, path: string): Promise<string[]> {
  return (await Array.fromAsync(backend.list(path))).map(({ name }) => name)
}

async function text(backend: StorageBackend, path: string): Promise<string> {
  return Buffer.concat(await Array.fromAsync((await backend.read(path)).content)).toString()
}

test('each call asks the server as little as it can', async (t) => {
  const { server, backend } = await serve(t, true)
  const requests = async (call: Promise<unknown>) => {
    server.counted()
    await call
    return server.counted()
  }
  const size = 3
  const three = () => chunks(Buffer.from('abc'))
  const write = (path: string, options = {}) => requests(backend.write(path, three(), { size, ...options }))
  t.strictSame(
    await write('/folder/first'),
    ['HEAD', 'LIST', 'LIST', 'PUT', 'PUT'],
    'a new file and its folder',
  )
  t.strictSame(await write('/folder/new'), ['LIST', 'LIST', 'PUT'], 'a new file')
  t.strictSame(await write('/folder/new'), ['HEAD', 'LIST', 'LIST', 'PUT'], 'an overwrite')
  await write('/folder/new', { keepReplacedAt: '/kept/first' })
  t.strictSame(
    await write('/folder/new', { keepReplacedAt: '/kept/second' }),
    ['HEAD', 'LIST', 'LIST', 'LIST', 'PUT', 'PUT'],
    'an overwrite, and the copy that keeps the file',
  )
  const { revision } = await backend.stat('/folder/new')
  t.strictSame(await write('/folder/new', { ifRevision: revision }), ['HEAD', 'PUT'], 'with a condition')
  const known = { destination: null }
  t.strictSame(await write('/folder/known', { known }), ['LIST', 'PUT'], 'what the caller knows')
  const { content } = await backend.read('/folder/new')
  t.strictSame(await requests(Array.fromAsync(content)), [])
  t.strictSame(
    await requests(backend.read('/folder/new').then(async (reading) => Array.fromAsync(reading.content))),
    ['GET'],
    'a read',
  )
  const source = await backend.stat('/folder/new')
  t.strictSame(await requests(backend.remove('/folder/new', { known: { source } })), ['POST'], 'a removal')
  t.strictSame(await requests(backend.remove('/folder/known')), ['HEAD', 'POST'])
  for (let index = 0; index < 1000; index += 1) server.put(`large/name${1000 + index}`, 'x')
  t.strictSame(await requests(names(backend, '/large')), Array(10).fill('LIST'), 'ten pages')
  t.strictSame(
    await requests(backend.remove('/large')),
    ['HEAD', 'LIST', ...Array(10).fill('LIST'), ...Array(10).fill('POST')].sort(),
    'a folder of ten pages',
  )
  t.strictSame(await names(backend, '/'), ['folder', 'kept'])
})

test('a write asks once what is at its path, and finds it among many names that begin like it, too', async (t) => {
  const { server, backend } = await serve(t, true)
  const write = async (path: string) => {
    server.counted()
    await backend.write(path, chunks(Buffer.from('x')), { size: 1 })
    return server.counted()
  }
  for (const name of [
    'few',
    'few-1',
    'few.txt',
    'few0',
    ...Array.from('0123456789', (digit) => `many-${digit}`),
  ])
    server.put(`folder/${name}`, 'x')
  t.strictSame(await write('/folder/few-'), ['LIST', 'LIST', 'PUT'])
  t.strictSame(await write('/folder/few'), ['HEAD', 'LIST', 'LIST', 'PUT'], 'a file that is replaced')
  t.strictSame(await write('/folder/many'), ['LIST', 'LIST', 'LIST', 'PUT'])
  await backend.remove('/folder/many')
  for (const name of ['few.d', 'few', 'many', 'many-0']) server.put(`folders/${name}/inner`, 'x')
  for (const digit of '123456789') server.put(`folders/many-${digit}`, 'x')
  for (const name of ['few', 'many']) {
    await t.rejects(write(`/folders/${name}`), { code: 'CONFLICT' })
    server.put(`folders/${name}`, 'by another program')
    await t.resolves(write(`/folders/${name}`), 'a file counts more than a folder')
  }
})

test('without conditional writes, the backend checks a write twice', async (t) => {
  const { server, backend } = await serve(t, false)
  server.put('folder/file', 'x')
  await backend.write('/folder/new', chunks())
  t.equal(server.counted().length, 10)
  await backend.write('/folder/new', chunks())
  t.strictSame(server.counted(), ['HEAD', 'HEAD', 'LIST', 'PUT'])
})

test('a page of a large folder costs the same, whatever its names are', async (t) => {
  const { server, backend } = await serve(t, true)
  for (let index = 0; index < 1000; index += 1) server.put(`large/photo-${1000 + index}.jpg`, 'x')
  server.put('large/photo/inner', 'x')
  server.counted()
  const seen: string[] = []
  for await (const { name } of backend.list('/large', { after: 'photo-1500.jpg' })) {
    seen.push(name)
    if (seen.length === 50) break
  }
  t.equal(seen[49], 'photo-1550.jpg')
  t.ok(server.counted().length <= 3)
  const all = await names(backend, '/large')
  t.strictSame(all.slice(0, 2), ['photo', 'photo-1000.jpg'])
  t.equal(all.length, 1001)
  t.ok(server.counted().length <= 13, 'eleven pages, and what may be before them')
})

test('names come in the order of JavaScript, whatever the pages of the store are', async (t) => {
  const name = fc
    .array(fc.constantFrom('a', 'b', '!', '-', '.', ' ', '0', '\ue000', '\uff5e', '\u{1f600}', '\u{1f601}'), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join(''))
    .filter((joined) => joined !== '.' && joined !== '..')
  const entries = fc.array(fc.tuple(name, fc.constantFrom('', '/file', '/', '/../x', '//')), {
    maxLength: 40,
  })
  const property = fc.asyncProperty(
    entries,
    fc.integer({ min: 1, max: 7 }),
    fc.option(name),
    async (listed, pageSize, after) => {
      const server = new FlatServer({ pageSize })
      const expected = new Map<string, StorageEntry['type']>()
      for (const [key, below] of listed) {
        server.put(`folder/${key}${below}`, 'x')
        if (below === '' || !expected.has(key)) expected.set(key, below === '' ? 'file' : 'directory')
      }
      const page = async (prefix: string, options: FlatPageOptions) => {
        const answer = server.page(queryOf(prefix, options))
        return { ...answer, objects: answer.objects.map(({ key, headers }) => objectOf(key, headers)) }
      }
      const driver = flatDriver({ ...httpStore('', false), page })
      const found = await Array.fromAsync(
        driver.list('/folder', { signal, ...(after !== null && { after }) }),
      )
      t.strictSame(
        found.map((entry) => [entry.name, entry.type]),
        [...expected].filter(([key]) => after === null || key > after).sort(([a], [b]) => (a < b ? -1 : 1)),
      )
    },
  )
  await fc.assert(property, { numRuns: 400 })
})

test('names that no path has are left out, and the folders of other programs are found', async (t) => {
  const { server, backend } = await serve(t, true)
  const long = 'x'.repeat(256)
  for (const name of ['', '.', '..', long, 'e\u0301', 'kept']) {
    server.put(`theirs/${name}/file`, 'x')
    server.put(`theirs/${name}`, 'x')
  }
  server.put('both', 'the file')
  server.put('both/inner', 'x')
  t.strictSame(await names(backend, '/theirs'), ['kept'])
  t.strictSame(await names(backend, '/'), ['both', 'theirs'])
  t.equal((await backend.stat('/theirs')).type, 'directory')
  t.equal((await backend.stat('/both')).type, 'file')
  t.equal(await text(backend, '/both'), 'the file')
  const { revision } = await backend.stat('/both')
  await backend.write('/both', chunks(Buffer.from('ours')), { ifRevision: revision })
  t.equal(await text(backend, '/both'), 'ours')
})

test('a folder that seems to be empty is not removed with objects that have no path', async (t) => {
  const { server, backend } = await serve(t, true)
  await backend.makeDirectory('/folder')
  server.put('folder/e\u0301', 'theirs')
  t.strictSame(await names(backend, '/folder'), [])
  await t.rejects(backend.remove('/folder', { onlyIfEmpty: true }), { code: 'CONFLICT' })
  t.ok(server.objects.has('folder/e\u0301'))
  await backend.remove('/folder')
  t.equal(server.objects.size, 0)
})

test('a folder stays when its last file is removed, unless another program made it', async (t) => {
  const { server, backend } = await serve(t, false)
  await backend.write('/a/b/c/file', chunks(Buffer.from('x')))
  await backend.remove('/a/b/c/file')
  t.strictSame([...server.objects.keys()].sort(), ['a/', 'a/b/', 'a/b/c/'])
  t.strictSame(await names(backend, '/a/b'), ['c'])
  server.put('theirs/file', 'x')
  await backend.remove('/theirs/file')
  t.strictSame(await names(backend, '/'), ['a'])
  await backend.remove('/a')
  t.strictSame([...server.objects.keys()], [])
})

test('a write with a condition fails if another program comes first, at the last moment too', async (t) => {
  const { server, backend } = await serve(t, true)
  const size = 1
  const one = () => chunks(Buffer.from('x'))
  const { revision } = await backend.write('/file', one(), { size })
  for (const [path, condition] of [
    ['/file', { ifRevision: revision }],
    ['/new', { ifAbsent: true }],
  ] as const) {
    const beforeCommit = async () => server.put(path.slice(1), 'theirs')
    const written = backend.write(path, one(), { size, ...condition, beforeCommit })
    await t.rejects(written, { code: 'PRECONDITION_FAILED' })
    t.equal(await text(backend, path), 'theirs')
  }
  async function* overtaken() {
    yield Buffer.from('ours')
    server.put('new', 'overtaking')
  }
  const replaced: unknown[] = []
  const beforeCommit = async (staged: StorageStaged) => {
    replaced.push(staged.replaced?.size)
    server.put('new', 'overwritten')
  }
  await backend.write('/new', overtaken(), { beforeCommit })
  t.strictSame(replaced, ['overtaking'.length], 'the driver looks when all bytes have arrived')
  await backend.write('/new', one(), { beforeCommit })
  t.equal(await text(backend, '/new'), 'x', 'without a condition, the last one wins')
})

test('a large upload that cannot succeed is refused before its content is read', async (t) => {
  const { backend } = await serve(t, true)
  await backend.write('/folder/file', chunks(Buffer.from('x')))
  let isRead = false
  async function* content() {
    isRead = true
    yield Buffer.alloc(10)
  }
  for (const [path, options, code] of [
    ['/folder', {}, 'CONFLICT'],
    ['/folder', { ifAbsent: true }, 'PRECONDITION_FAILED'],
    ['/folder/file/below', {}, 'CONFLICT'],
    ['/folder/file/below/deeper', { ifRevision: 'x', size: 10 }, 'CONFLICT'],
    ['/folder/file', { ifRevision: 'x', size: 10 }, 'PRECONDITION_FAILED'],
    ['/folder/file', { ifAbsent: true, size: 2 * mebibyte }, 'PRECONDITION_FAILED'],
  ] as const)
    await t.rejects(backend.write(path, content(), options), { code }, `${path} ${inspect(options)}`)
  t.notOk(isRead)
})

test('a failure of a marker is a failure of the write', async (t) => {
  const { server } = await serve(t, true)
  const store = httpStore(server.url, true)
  const backend = createStorageBackend(
    flatDriver({
      ...store,
      put: async (key, ...rest) => {
        if (key.endsWith('/')) throw new Error('ECONNRESET')
        return store.put(key, ...rest)
      },
    }),
  )
  await t.rejects(backend.write('/folder/file', chunks(Buffer.from('x'))), { code: 'SERVICE_UNAVAILABLE' })
  t.equal(await text(backend, '/folder/file'), 'x', 'the caller asks what has happened')
})

test('the last chunk, or the end, is held back until the commit is allowed', async (t) => {
  for (const parts of [['a', 'b', 'c'], ['a'], []]) {
    const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
    const seen: string[] = []
    const passed = (async () => {
      for await (const chunk of heldBack(chunks(...parts.map((part) => Buffer.from(part))), () => allowed))
        seen.push(Buffer.from(chunk).toString())
      seen.push('end')
    })()
    await setImmediate()
    t.strictSame(seen, parts.slice(0, -1))
    allow()
    await passed
    t.strictSame(seen, [...parts, 'end'])
  }
  const refused = new Error('refused')
  const content = heldBack(chunks(Buffer.from('a')), () => Promise.reject(refused))
  await t.rejects(Array.fromAsync(content), refused)
})
