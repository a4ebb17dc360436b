import { DatabaseSync } from 'node:sqlite'
import {
  createStorageBackend,
  NodekeepError,
  type StorageBackend,
  type StorageDriver,
  type StorageDriverCopyOptions,
  type StorageDriverMoveOptions,
  type StorageDriverRemoveOptions,
  type StorageDriverWriteOptions,
  type StorageEntry,
  type StorageReadOptions,
  type StorageStaged,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { backendWith, chunks, PaperDriver } from './fixtures/paper-driver.ts'

test('a failure that is no NodekeepError becomes SERVICE_UNAVAILABLE, with the failure as its cause', async (t) => {
  const cause = new Error('ECONNRESET /srv/secret')
  const fail = async () => {
    throw cause
  }
  const backend = backendWith({ stat: fail })
  await t.rejects(backend.stat('/file'), { code: 'SERVICE_UNAVAILABLE', message: /^(?!.*secret)/, cause })
  const failing = backendWith({ list: () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }) })
  await t.rejects(Array.fromAsync(failing.list('/')), { code: 'SERVICE_UNAVAILABLE', cause })
})

test('a time that cannot be written becomes the start of 1970, wherever an entry leaves a driver', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(driver)
  const unknown = new Date(0)
  for (const odd of [new Date(Number.NaN), new Date('+010000-01-01'), new Date('-000001-12-31T23:59:59Z')]) {
    driver.put('/folder/file', Buffer.from('x'), 'odd', odd)
    const halted = await (await backend.prepareSnapshot?.(new AbortController().signal))?.halt()
    const snapshot = await halted?.fix()
    await halted?.[Symbol.asyncDispose]()
    const readings = await Promise.all(
      [backend, snapshot ?? backend].map((files) => files.read('/folder/file')),
    )
    for (const { content } of readings) await Array.fromAsync(content)
    const seen = [
      await backend.stat('/folder/file'),
      ...(await Array.fromAsync(backend.list('/folder'))),
      ...(await Array.fromAsync(snapshot?.list('/folder') ?? [])),
      ...readings.map(({ entry }) => entry),
    ]
    const beforeCommit = async ({ replaced }: StorageStaged) => void (replaced && seen.push(replaced))
    await backend.write('/folder/file', chunks(Buffer.from('y')), { beforeCommit })
    t.equal(seen.length, 6)
    for (const { modified, created } of seen) t.strictSame([modified, created], [unknown, unknown])
    await snapshot?.release()
  }
  for (const edge of [new Date('0000-01-01T00:00:00.000Z'), new Date('9999-12-31T23:59:59.999Z')]) {
    driver.put('/edge', Buffer.from('x'), 'edge', edge)
    t.strictSame((await backend.stat('/edge')).modified, edge)
  }
})

test('a driver gets no time of modification that cannot be written, and none in the future', async (t) => {
  const driver = new PaperDriver()
  const got: (Date | undefined)[] = []
  const backend = createStorageBackend(
    Object.assign(driver, {
      commit(path: string, bytes: Buffer, options: StorageDriverCopyOptions) {
        got.push(options.modified)
        return PaperDriver.prototype.commit.call(driver, path, bytes, options)
      },
    }),
  )
  const early = new Date('0000-01-01T00:00:00.000Z')
  const times = [new Date(Number.NaN), new Date(Date.now() + 86_400_000), new Date('-000001-12-31'), early]
  for (const modified of times) {
    await backend.write('/file', chunks(Buffer.from('x')), { modified })
    await backend.copy?.('/file', '/copy', { modified })
  }
  t.strictSame(got, [...Array(6).fill(undefined), early, early])
})

test('a lack of space becomes INSUFFICIENT_STORAGE', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  database.exec('PRAGMA max_page_count = 2; CREATE TABLE file (bytes BLOB)')
  const fills = async () => void database.prepare('INSERT INTO file VALUES (zeroblob(100000))').run()
  const lacks = (code: string) => async () => {
    throw Object.assign(new Error(`${code}: /srv/secret`), { code })
  }
  for (const makeDirectory of [fills, lacks('ENOSPC'), lacks('EDQUOT')]) {
    const making = backendWith({ makeDirectory }).makeDirectory('/folder')
    await t.rejects(making, { code: 'INSUFFICIENT_STORAGE', message: /Remove files/, cause: Error })
  }
})

test('a driver without `probe` is probed by its root', async (t) => {
  const { signal } = new AbortController()
  await backendWith({}).probe(signal)
  const broken = backendWith({ stat: () => Promise.reject(new Error('down')) })
  await t.rejects(broken.probe(signal), { code: 'SERVICE_UNAVAILABLE' })
  const silent = backendWith({ stat: () => new Promise(() => {}) })
  await t.rejects(silent.probe(AbortSignal.abort(new Error('late'))), { message: 'late' })
})

test('a driver gets no empty chunks', async (t) => {
  const seen: number[] = []
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      async write(path: string, content: AsyncIterable<Uint8Array>, options: StorageDriverWriteOptions) {
        const read = await Array.fromAsync(content)
        seen.push(...read.map(({ length }) => length))
        return PaperDriver.prototype.write.call(driver, path, chunks(...read), options)
      },
    }),
  )
  const empty = Buffer.alloc(0)
  await backend.write('/file', chunks(empty, Buffer.from('one'), empty, empty, Buffer.from('four'), empty))
  await backend.write('/empty', chunks(empty, empty))
  t.strictSame(seen, [3, 4])
})

test('a listing begins after a name, also if the driver does not know how', async (t) => {
  const driver = new PaperDriver()
  const all = (path: string) => PaperDriver.prototype.list.call(driver, path)
  const backend = createStorageBackend(Object.assign(driver, { list: all }))
  for (const name of ['a', 'b', 'c']) driver.put(`/folder/${name}`, Buffer.from('x'))
  const names = async (after: string) =>
    (await Array.fromAsync(backend.list('/folder', { after }))).map(({ name }) => name)
  t.strictSame(await names('a'), ['b', 'c'])
  t.strictSame(await names('c'), [], 'a folder without further entries is no error')
  await t.rejects(Array.fromAsync(backend.list('/folder/a', { after: 'z' })), { code: 'CONFLICT' })
})

test('the errors of the content and of `beforeCommit` are unchanged, whatever the driver throws then', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      write: (...args: Parameters<StorageDriver['write']>) =>
        PaperDriver.prototype.write.apply(driver, args).catch(() => {
          throw new NodekeepError('INSUFFICIENT_STORAGE', 'Something else.')
        }),
    }),
  )
  const fault = new TypeError('the source broke')
  async function* broken(): AsyncIterable<Uint8Array> {
    yield Buffer.from('x')
    throw fault
  }
  const thrownBy = (call: Promise<unknown>) => call.catch((error: unknown) => error)
  t.equal(await thrownBy(backend.write('/file', broken())), fault)
  t.equal(
    await thrownBy(backend.write('/file', chunks(), { beforeCommit: () => Promise.reject(fault) })),
    fault,
  )
})

test('a driver that commits before it has read the whole content stores nothing', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      async write(
        path: string,
        _content: unknown,
        { beforeCommit }: { beforeCommit(staged: object): Promise<void> },
      ) {
        await beforeCommit({ revision: 'x' })
        driver.put(path, Buffer.from('x'))
        return driver.stat(path)
      },
    }),
  )
  await t.rejects(backend.write('/file', chunks(Buffer.from('long'))), {
    code: 'SERVICE_UNAVAILABLE',
    cause: { message: /did not read the content/ },
  })
  await t.rejects(backend.stat('/file'), { code: 'NOT_FOUND' })
})

test('conditions reach only a driver with `atomicConditions`, and are not checked for it', async (t) => {
  for (const atomicConditions of [true, false]) {
    const seen: object[] = []
    const driver = new PaperDriver()
    const backend = createStorageBackend(
      Object.assign(driver, {
        supports: { atomicConditions },
        remove: async (_path: string, { signal, progress, ...options }: StorageDriverRemoveOptions) =>
          void seen.push(options),
        move: async (
          _source: string,
          _destination: string,
          { signal, ...options }: StorageDriverMoveOptions,
        ) => void seen.push(options),
        async copy(
          _source: string,
          _destination: string,
          { signal, size, beforeCommit, ...options }: StorageDriverCopyOptions,
        ) {
          await beforeCommit({ revision: 'copied' })
          seen.push(options)
          return driver.stat('/file')
        },
      }),
    )
    const { revision } = await backend.write('/file', chunks())
    await backend.remove('/file', { ifRevision: revision })
    await backend.move?.('/file', '/other', { overwrite: true })
    await backend.copy?.('/file', '/copy', { ifAbsent: true })
    const conditions = [
      { ifRevision: revision },
      { overwrite: true },
      { ifAbsent: true, ifSourceRevision: revision },
    ]
    t.strictSame(seen, atomicConditions ? conditions : [{ type: 'file' }, {}, {}])
    const stale = backend.remove('/file', { ifRevision: 'another' })
    if (atomicConditions) await stale
    else await t.rejects(stale, { code: 'PRECONDITION_FAILED' })
  }
})

test('with `conditionalWrites`, the conditions of a write are those of its driver, and a write is one call', async (t) => {
  const seen: object[] = []
  const driver = new PaperDriver()
  driver.put('/file', Buffer.alloc(0), 'first')
  const other = await driver.stat('/file')
  let stats = 0
  let supports: StorageDriver['supports'] = {}
  Object.defineProperty(driver, 'supports', { get: () => supports })
  const backend = createStorageBackend(
    Object.assign(driver, {
      stat(...args: Parameters<StorageDriver['stat']>) {
        stats += 1
        return PaperDriver.prototype.stat.apply(driver, args)
      },
      async write(
        _path: string,
        content: AsyncIterable<Uint8Array>,
        { signal, beforeCommit, ...options }: StorageDriverWriteOptions,
      ) {
        await Array.fromAsync(content)
        await beforeCommit({ revision: 'second', replaced: other })
        seen.push(options)
        return { ...other, revision: 'second' }
      },
    }),
  )
  const replaced: unknown[] = []
  const options = {
    ifRevision: 'first',
    beforeCommit: async (staged: StorageStaged) => void replaced.push(staged.replaced),
  }
  await backend.write('/file', chunks(), options)
  t.ok(stats > 0)
  stats = 0
  // The driver has learned that its server checks conditions.
  supports = { conditionalWrites: true }
  t.strictSame(backend.supports, { conditionalWrites: true, keepsReplaced: true })
  await backend.write('/file', chunks(), options)
  await backend.write('/file', chunks(), { known: { destination: null }, ifAbsent: true })
  t.equal(stats, 0)
  t.strictSame(replaced, [other, other])
  t.strictSame(seen, [{}, { ifRevision: 'first' }, { known: { destination: null }, ifAbsent: true }])
  const { copy } = backend as Required<StorageBackend>
  const copied = copy('/file', '/copy', { ifRevision: 'x' })
  await t.rejects(copied, { code: 'PRECONDITION_FAILED' }, 'a copy is checked by the backend')
})

test('what the caller of a change knows is not asked again, and conditions hold for it', async (t) => {
  for (const atomicConditions of [false, true]) {
    const asked: string[] = []
    const driver = new PaperDriver()
    const stat: PaperDriver['stat'] = async (path) => {
      asked.push(path)
      return PaperDriver.prototype.stat.call(driver, path)
    }
    const backend = createStorageBackend(Object.assign(driver, { supports: { atomicConditions } }))
    const source = await backend.write('/file', chunks(Buffer.from('x')))
    Object.assign(driver, {
      stat,
      commit: async (...[path, bytes, options]: Parameters<PaperDriver['commit']>) => {
        await options.beforeCommit({ revision: 'new', ...(atomicConditions && { replaced: null }) })
        driver.put(path, bytes, 'new')
        return PaperDriver.prototype.stat.call(driver, path)
      },
    })
    const known = { source, destination: null }
    await backend.makeDirectory('/folder', { known })
    await backend.write('/folder/written', chunks(), { known })
    await backend.copy?.('/file', '/folder/copy', { known })
    await backend.move?.('/file', '/folder/moved', { known })
    await backend.remove('/folder/moved', { known })
    t.strictSame(asked, [])
    if (atomicConditions) continue
    const taken = { known: { destination: source } }
    await t.rejects(backend.write('/x', chunks(), { ...taken, ifAbsent: true }), {
      code: 'PRECONDITION_FAILED',
    })
    await t.rejects(backend.makeDirectory('/x', taken), { code: 'CONFLICT' })
    await t.rejects(async () => backend.move?.('/folder/copy', '/x', taken), { code: 'CONFLICT' })
    await t.rejects(backend.remove('/x', { known: { source }, ifRevision: 'another' }), {
      code: 'PRECONDITION_FAILED',
    })
    t.strictSame(asked, ['/folder/copy'], 'only what is not known is asked')
  }
})

test('a driver without `atomicFolders` never gets a folder to move, and none to replace', async (t) => {
  for (const atomicConditions of [false, true]) {
    const moved: string[] = []
    const driver = new PaperDriver()
    const move: PaperDriver['move'] = async (source) => void moved.push(source)
    const backend = createStorageBackend(Object.assign(driver, { supports: { atomicConditions }, move }))
    await backend.write('/file', chunks(Buffer.from('x')))
    await backend.makeDirectory('/folder')
    const folder = await backend.stat('/folder')
    const refused = { code: 'CONFLICT', message: /folder/ }
    for (const options of [{}, { overwrite: true }, { known: { source: folder, destination: null } }])
      await t.rejects(async () => backend.move?.('/folder', '/moved', options), refused)
    // A driver with `atomicConditions` checks the destination in its own step.
    if (!atomicConditions)
      await t.rejects(async () => backend.move?.('/file', '/folder', { overwrite: true }), refused)
    await t.rejects(async () => backend.move?.('/none', '/moved'), { code: 'NOT_FOUND' })
    t.strictSame(moved, [])
    await backend.move?.('/file', '/moved')
    t.strictSame(moved, ['/file'])
  }
})

test('a driver without `move` makes a backend without it, and cannot move folders', async (t) => {
  for (const timeLimitMs of [30_000, Number.POSITIVE_INFINITY]) {
    const driver = Object.assign(new PaperDriver(), { move: undefined })
    t.throws(() => createStorageBackend(driver, { timeLimitMs }), {
      name: 'TypeError',
      message: 'The driver of a storage backend has "supports.atomicFolders", but no method "move".',
    })
    const backend = createStorageBackend(Object.assign(driver, { supports: {} }), { timeLimitMs })
    t.equal(backend.move, undefined)
  }
})

test('a copy whose source changes before its last step, or whose driver hides an error, fails', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      copy: async (source: string, destination: string, options: StorageDriverCopyOptions) => {
        driver.put(source, Buffer.from('later'), 'later')
        await PaperDriver.prototype.copy.call(driver, source, destination, options).catch(() => {})
        return driver.stat(source)
      },
    }),
  )
  await backend.write('/file', chunks(Buffer.from('x')))
  await t.rejects((backend as Required<StorageBackend>).copy('/file', '/copy'), {
    code: 'PRECONDITION_FAILED',
  })
  await t.rejects(backend.stat('/copy'), { code: 'NOT_FOUND' })
  t.notOk(createStorageBackend(Object.assign(new PaperDriver(), { copy: undefined })).copy)
})

test('a file is copied before it is replaced, if its driver copies files and does not keep them', async (t) => {
  const log: string[] = []
  const driver = new PaperDriver()
  const kept: unknown[] = []
  const backend = createStorageBackend(
    Object.assign(driver, {
      supports: {},
      async copy(...call: Parameters<PaperDriver['copy']>) {
        log.push(`copy ${call[0]} to ${call[1]}`)
        kept.push(call[2].kept)
        return PaperDriver.prototype.copy.apply(driver, call)
      },
      put(...call: Parameters<PaperDriver['put']>) {
        if (call[1] !== null) log.push(`put ${call[0]}`)
        PaperDriver.prototype.put.apply(driver, call)
      },
    }),
  )
  t.equal(backend.supports.keepsReplaced, true)
  const file = await backend.write('/file', chunks(Buffer.from('old')))
  log.length = 0
  const beforeCommit = async () => void log.push('commit')
  await backend.write('/file', chunks(), { keepReplacedAt: '/kept/1', beforeCommit })
  t.strictSame(log, ['commit', 'copy /file to /kept/1', 'put /kept/1', 'put /file'])
  t.strictSame(kept, [file])
  await backend.write('/new', chunks(), { keepReplacedAt: '/kept/2', beforeCommit })
  t.equal(kept.length, 1, 'nothing is copied where nothing is replaced')
  log.length = 0
  await backend.move?.('/new', '/file', { overwrite: true, keepReplacedAt: '/kept/2' })
  t.strictSame(log, ['copy /file to /kept/2', 'put /kept/2'])

  const broken = async (_path: string, to: string) => {
    if (to.startsWith('/kept')) throw new Error('down')
  }
  Object.assign(driver, { copy: broken })
  const former = await backend.stat('/file')
  const failing = backend.write('/file', chunks(Buffer.from('new')), { keepReplacedAt: '/kept/3' })
  await t.rejects(failing, { code: 'SERVICE_UNAVAILABLE', cause: { message: 'down' } })
  t.strictSame(await backend.stat('/file'), former, 'what cannot be kept is not replaced')
  const gone = () => Promise.reject(new NodekeepError('NOT_FOUND', 'Another program has removed it.'))
  Object.assign(driver, { copy: gone })
  await backend.write('/file', chunks(Buffer.from('new')), { keepReplacedAt: '/kept/3' })
  t.not((await backend.stat('/file')).revision, former.revision)
})

test('`keepReplacedAt` reaches only a driver that keeps what it replaces, and nothing is copied for others that cannot', async (t) => {
  for (const [abilities, keeps] of [
    [{ supports: { atomicFolders: true, keepsReplaced: true } }, true],
    [{ supports: { keepsReplaced: false } }, false],
    [{ supports: { atomicFolders: true } }, false],
    [{ supports: {}, copy: undefined }, false],
    [{ supports: {}, prepareSnapshot: () => Promise.reject(new Error('none')) }, false],
  ] as const) {
    const seen: (string | undefined)[] = []
    const driver = new PaperDriver()
    const backend = createStorageBackend(
      Object.assign(driver, {
        copy: () => Promise.reject(new Error('copied')),
        commit(...call: Parameters<PaperDriver['commit']>) {
          seen.push(call[2].keepReplacedAt)
          return PaperDriver.prototype.commit.apply(driver, call)
        },
        async move(_source: string, _destination: string, { keepReplacedAt }: StorageDriverMoveOptions) {
          seen.push(keepReplacedAt)
        },
        ...abilities,
      }),
    )
    t.equal(backend.supports.keepsReplaced ?? false, keeps)
    await backend.write('/file', chunks())
    await backend.write('/other', chunks())
    seen.length = 0
    await backend.write('/file', chunks(), { keepReplacedAt: '/kept' })
    await backend.move?.('/other', '/file', { overwrite: true, keepReplacedAt: '/kept' })
    t.strictSame(seen, keeps ? ['/kept', '/kept'] : [undefined, undefined])
  }
})

test('callers that keep chunks have memory of their own, and the others that of the driver', async (t) => {
  const stored = Buffer.alloc(10, 'a')
  const received: Uint8Array[] = []
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      chunks: () => chunks(stored),
      async write(path: string, content: AsyncIterable<Uint8Array>, options: never) {
        const passed = (async function* () {
          for await (const chunk of content) {
            received.push(chunk)
            yield chunk
          }
        })()
        return PaperDriver.prototype.write.call(driver, path, passed, options)
      },
    }),
  )
  for (const gives of [true, false]) {
    await backend.write('/file', chunks(stored), { freeChunks: gives })
    t.equal(received.pop() === stored, gives)
    const [read] = await Array.fromAsync((await backend.read('/file', { reuseBuffers: gives })).content)
    t.equal(read?.buffer === stored.buffer, gives)
  }
})

test('a reading whose loop never began is closed with the backend, and so is the rest of a refused range', async (t) => {
  let open = 0
  const backend = backendWith({
    async open() {
      open += 1
      const content = (async function* () {
        try {
          yield Buffer.from('12345')
        } finally {
          open -= 1
        }
      })()
      const entry = {
        name: 'file',
        type: 'file',
        size: 5,
        modified: new Date(),
        created: new Date(),
        revision: 'x',
      } as const
      return { entry, content, start: 0 }
    },
  })
  await t.rejects(backend.read('/file', { start: 5 }), { code: 'RANGE_NOT_SATISFIABLE' })
  t.equal(open, 0)
  await backend.read('/file')
  t.equal(open, 1)
  await backend.close()
  t.equal(open, 0)
})

test('a closed backend wins over an aborted signal, and that over everything else', async (t) => {
  const backend = createStorageBackend(new PaperDriver())
  await backend.write('/file', chunks(Buffer.from('x')))
  const reason = new Error('left')
  const signal = AbortSignal.abort(reason)
  const calls = () => [
    backend.read('/none', { signal }),
    backend.read('/file', { start: 9, signal }),
    backend.write('/', chunks(Buffer.from('x')), { signal }),
    backend.write('/file/below', chunks(Buffer.from('x')), { ifAbsent: true, signal }),
    backend.copy?.('/', '/file', { signal }),
    backend.prepareSnapshot?.(signal),
    backend.probe(signal),
  ]
  for (const call of calls()) await t.rejects(call as Promise<unknown>, { message: reason.message })
  await backend.close()
  for (const call of calls()) await t.rejects(call as Promise<unknown>, { code: 'SERVICE_UNAVAILABLE' })
})

test('a range that no file can have reaches no driver', async (t) => {
  const asked: unknown[] = []
  const backend = backendWith({
    open: async (_path, options) => {
      asked.push(options)
      throw new RangeError('A stream takes no such range.')
    },
  })
  await backend.write('/folder/file', chunks(Buffer.from('12345')))
  for (const range of [
    { start: 2, end: 1 },
    { start: -1 },
    { end: -1 },
    { start: 0.5 },
    { end: Number.NaN },
  ]) {
    await t.rejects(backend.read('/folder/file', range), { code: 'RANGE_NOT_SATISFIABLE' })
    await t.rejects(backend.read('/folder', range), { code: 'CONFLICT' })
    await t.rejects(backend.read('/none', range), { code: 'NOT_FOUND' })
  }
  t.strictSame(asked, [])
})

test('a backend tells the folder of plain files that its driver names', async (t) => {
  t.equal(backendWith({ plainFolder: '/srv/files' }).plainFolder, '/srv/files')
  t.equal(backendWith({}).plainFolder, undefined)
})

test('a close waits for running calls, then closes the driver once', async (t) => {
  const events: string[] = []
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const backend = backendWith({
    async makeDirectory() {
      reached.resolve()
      await released.promise
      events.push('made')
    },
    async close() {
      events.push('closed')
    },
  })
  const making = backend.makeDirectory('/folder')
  await reached.promise
  const closing = [backend.close(), backend.close()]
  await t.rejects(backend.stat('/'), { code: 'SERVICE_UNAVAILABLE' })
  released.resolve()
  await Promise.all([making, ...closing])
  t.strictSame(events, ['made', 'closed'])
})

test('a file above a path of many levels is found with few questions', async (t) => {
  let questions = 0
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      stat(path: string) {
        questions += 1
        return PaperDriver.prototype.stat.call(driver, path)
      },
    }),
  )
  const levels = 1000
  for (const height of [1, 2, 3, 500, 998, 999]) {
    const above = '/d'.repeat(height)
    await backend.write(above, chunks())
    questions = 0
    await t.rejects(
      backend.makeDirectory('/d'.repeat(levels)),
      { code: 'CONFLICT' },
      `a file at level ${height}`,
    )
    t.ok(questions <= 13, `${questions} questions`)
    await backend.remove('/d')
  }
  await backend.makeDirectory('/d'.repeat(levels))
  t.match(await backend.stat('/d'.repeat(levels)), { type: 'directory' })
})

test('a write that is aborted while its conditions are checked ends, though its source is silent', async (t) => {
  const controller = new AbortController()
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      stat(path: string) {
        controller.abort(new Error('enough'))
        return PaperDriver.prototype.stat.call(driver, path)
      },
    }),
  )
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
  await t.rejects(backend.write('/file', silent, { signal: controller.signal }), { message: 'enough' })
})

test('a caller who leaves after `beforeCommit` does not end the change, and learns how it ended', async (t) => {
  const answers = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ]
  const signals: AbortSignal[] = []
  const paper = new PaperDriver()
  const late = async (options: StorageDriverWriteOptions, change: () => Promise<StorageEntry>) => {
    await options.beforeCommit({ revision: 'next' })
    signals.push(options.signal)
    await answers[signals.length - 1]?.promise
    return change()
  }
  const backend = backendWith({
    stat: (path) => paper.stat(path),
    async write(path, content, options) {
      const bytes = Buffer.concat(await Array.fromAsync(content))
      return late(options, async () => {
        paper.put(path, bytes, 'next')
        return paper.stat(path)
      })
    },
    copy: (_source, destination, options) => late(options, () => paper.stat(destination)),
  })
  const leave = (
    change: (signal: AbortSignal, beforeCommit: () => Promise<void>) => Promise<StorageEntry>,
  ) => {
    const caller = new AbortController()
    const committed = Promise.withResolvers<void>()
    const ended = change(caller.signal, async () => committed.resolve())
    ended.catch(() => {})
    return committed.promise.then(() => {
      // Right after the driver went on.
      setImmediate(() => caller.abort(new Error('The caller has left.')))
      return new Promise<{ ended: Promise<StorageEntry> }>((resolve) =>
        setImmediate(() => resolve({ ended })),
      )
    })
  }
  const written = await leave((signal, beforeCommit) =>
    backend.write('/file', chunks(Buffer.from('x')), { signal, beforeCommit }),
  )
  t.equal(signals[0]?.aborted, false)
  answers[0]?.resolve()
  t.equal((await written.ended).revision, 'next')
  const failed = await leave((signal, beforeCommit) =>
    backend.write('/file', chunks(Buffer.from('y')), { signal, beforeCommit }),
  )
  answers[1]?.reject(new DOMException('No answer.', 'TimeoutError'))
  await t.rejects(failed.ended, { code: 'SERVICE_UNAVAILABLE', cause: { name: 'TimeoutError' } })
  const copied = await leave((signal, beforeCommit) => {
    const copy = backend.copy as Required<StorageBackend>['copy']
    return copy('/file', '/copy', { signal, beforeCommit })
  })
  t.equal(signals[2]?.aborted, false)
  paper.put('/copy', Buffer.from('x'), 'next')
  answers[2]?.resolve()
  t.equal((await copied.ended).revision, 'next')
})

test('a driver that begins after the first requested byte, or fails at the last check, is not believed', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(driver)
  await backend.write('/file', chunks(Buffer.from('12345')))
  const cause = new Error('EIO')
  const opened = async (...args: Parameters<StorageDriver['open']>) => ({
    ...(await PaperDriver.prototype.open.apply(driver, args)),
    start: 3,
  })
  const late = createStorageBackend(Object.assign(new PaperDriver(), { files: driver.files, open: opened }))
  const { content } = await late.read('/file', { start: 1 })
  await t.rejects(Array.fromAsync(content), { code: 'SERVICE_UNAVAILABLE' })
  async function* failing(): AsyncIterable<Uint8Array> {
    yield Buffer.from('x')
    driver.stat = () => Promise.reject(cause)
  }
  await t.rejects(backend.write('/other', failing()), { code: 'SERVICE_UNAVAILABLE', cause })
})

test('a driver may give all bytes in one piece, which is cut, copied and ended like a stream', async (t) => {
  const bytes = Buffer.from('0123456789')
  let given = bytes
  let start = 0
  const driver = new PaperDriver()
  driver.put('/file', bytes)
  driver.put('/empty', Buffer.alloc(0))
  const open = async (path: string) => ({
    entry: await driver.stat(path),
    content: path === '/file' ? given : new Uint8Array(0),
    start,
  })
  const backend = createStorageBackend(Object.assign(driver, { open }))
  const read = async (path: string, options?: StorageReadOptions) =>
    Buffer.concat(await Array.fromAsync((await backend.read(path, options)).content)).toString()
  t.equal(await read('/file'), '0123456789')
  t.equal(await read('/file', { start: 3, end: 5 }), '345')
  t.equal(await read('/empty'), '')
  await t.rejects(read('/file', { start: 3, end: 10 }), { code: 'RANGE_NOT_SATISFIABLE' })
  await t.rejects(read('/'), { code: 'CONFLICT' })
  for await (const chunk of (await backend.read('/file')).content) t.not(chunk.buffer, bytes.buffer, 'a copy')

  given = bytes.subarray(0, 9)
  await t.rejects(read('/file'), { code: 'SERVICE_UNAVAILABLE' }, 'a byte is missing')
  given = bytes
  start = 4
  await t.rejects(read('/file', { start: 3 }), { code: 'SERVICE_UNAVAILABLE' }, 'it begins too late')
  start = 0
  const { content } = await backend.read('/file')
  const abort = new AbortController()
  const aborted = await backend.read('/file', { signal: abort.signal })
  abort.abort(new Error('enough'))
  await t.rejects(Array.fromAsync(aborted.content), /enough/)
  await backend.close()
  await t.rejects(Array.fromAsync(content), { code: 'SERVICE_UNAVAILABLE' })
})
