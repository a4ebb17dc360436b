import { appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import { type ChangeLog, type FileChange, NodekeepError, type StorageBackend } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { countingBackend } from '../fixtures/counting-backend.ts'
import { createFilesNode, post, put } from '../fixtures/files-node.ts'
import { replay } from '../fixtures/replay.ts'
import { type ShakyBackend, shakyBackend } from '../fixtures/shaky-backend.ts'

t.jobs = 3

/** Generous: the promise is 2 seconds on a quiet machine. */
const timeLimitMs = 30_000

interface Page {
  readonly changes: readonly Pick<FileChange, 'op' | 'path' | 'by' | 'size' | 'revision'>[]
  readonly cursor: string
}

async function page(user: TestUser, query = ''): Promise<Page> {
  const answer = await user.fetch(`/api/files/changes${query}`)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Page
}

/** A change as text, such as `write /a by disk`. */
const said = ({ op, path, by }: Page['changes'][number]) =>
  `${op} ${path}${by === undefined ? '' : ` by ${by}`}`

/** Follows the feed from a cursor until the wanted changes were there, and returns all of them. */
async function untilChanges(user: TestUser, cursor: string, ...wanted: readonly string[]): Promise<string[]> {
  const seen: string[] = []
  const end = performance.now() + timeLimitMs
  for (let at = cursor; !wanted.every((one) => seen.includes(one)); ) {
    if (performance.now() > end)
      throw new Error(`${JSON.stringify(wanted)} is not in ${JSON.stringify(seen)}`)
    const next = await page(user, `?after=${at}&wait=5`)
    seen.push(...next.changes.map(said))
    at = next.cursor
  }
  return seen
}

/** The folder of a user on the disk. */
const folderOf = (node: Pick<TestNode, 'dataFolder'>, { user }: TestUser) =>
  join(node.dataFolder, 'files', user.uuid)

async function store(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

/** The sizes of files by path, `null` for folders, sorted. */
async function sizesIn(folder: string): Promise<[path: string, size: number | null][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = entries.map(async (entry): Promise<[string, number | null]> => {
    const file = join(entry.parentPath, entry.name)
    return [file.slice(folder.length), entry.isFile() ? (await stat(file)).size : null]
  })
  return [['/', null] as [string, null], ...(await Promise.all(sizes))].sort()
}

type FcValue<T> = T extends fc.Arbitrary<infer V> ? V : never

/** Starts a node on a data folder, with the tokens of the users that it knew before. */
async function start(t: Test, dataFolder?: string, storage = {}) {
  const services = captureServices()
  const node = await createFilesNode(storage, {
    ...(dataFolder !== undefined && { dataFolder }),
    plugins: [services.plugin],
  })
  t.teardown(() => node.stop())
  const known = (user: TestUser): TestUser => ({
    ...user,
    fetch: (path: string, init: RequestInit = {}) =>
      node.fetch(path, {
        ...init,
        headers: { ...(init.headers as object), authorization: `Bearer ${user.token}` },
      }),
  })
  return { node, services, known }
}

/** Starts a node with the shaky backend at `/cold`. A test changes `memory` behind it. */
async function startShaky(t: Test, shaky: ShakyBackend, dataFolder?: string) {
  const services = captureServices()
  const node = await createFilesNode(
    { mounts: { '/cold': 'shaky' } },
    { ...(dataFolder !== undefined && { dataFolder }), plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  return { node, services, memory: services.backends.get('memory') as StorageBackend }
}

/** Waits until no change of a user is missed any more. */
const compared = (changes: ChangeLog, { user }: TestUser) => changes.follow(user.uuid)

t.test('the feed tells what other programs create, edit, rename and delete', async (t) => {
  const { node } = await start(t)
  const ada = await node.signIn()
  await put(ada, '/own', 'x')
  await put(ada, '/folder/in it', 'x')
  const { cursor } = await page(ada)
  const folder = folderOf(node, ada)

  await store(join(folder, 'new'), 'four')
  await untilChanges(ada, cursor, 'write /new by disk')
  const [row] = (await page(ada, `?after=${cursor}`)).changes
  const etag = (await ada.fetch('/stat?path=/new')).headers.get('etag')
  t.match(row, { op: 'write', path: '/new', size: 4, revision: etag?.slice(1, -1), by: 'disk' })
  t.notOk(row && 'maker' in row, 'nobody knows which program it was')

  await writeFile(join(folder, 'own'), 'edited in place')
  await untilChanges(ada, cursor, 'write /own by disk')
  await rename(join(folder, 'own'), join(folder, 'renamed'))
  await untilChanges(ada, cursor, 'move /renamed by disk')
  await mkdir(join(folder, 'a', 'b'), { recursive: true })
  await untilChanges(ada, cursor, 'mkdir /a by disk', 'mkdir /a/b by disk')
  await rename(join(folder, 'folder'), join(folder, 'a', 'moved'))
  const seen = await untilChanges(ada, cursor, 'move /a/moved by disk')
  t.notOk(
    seen.some((row) => row.includes('in it')),
    'a folder moves by one change',
  )
  await rm(join(folder, 'a'), { recursive: true })
  await untilChanges(ada, cursor, 'delete /a by disk')
  await rm(join(folder, 'renamed'))
  await store(join(folder, 'renamed', 'file'), 'x')
  await untilChanges(ada, cursor, 'mkdir /renamed by disk', 'write /renamed/file by disk')
  const grace = await node.signIn()
  t.strictSame((await page(grace)).changes, [], 'nobody sees the changes of others')
})

t.test('a file that a program appends to all the time gets few rows, and then its last state', async (t) => {
  const { node, services } = await start(t)
  const ada = await node.signIn()
  const { cursor } = await page(ada)
  const file = join(folderOf(node, ada), 'log')
  await store(file, '')
  let isRunning = true
  let appended = 0
  const program = (async () => {
    for (; isRunning; appended += 1) {
      await appendFile(file, 'line\n')
      await delay(5)
    }
  })()
  const rows: FileChange[] = []
  for (let at = cursor; rows.length < 4; ) {
    const next = await page(ada, `?after=${at}&wait=5`)
    at = next.cursor
    rows.push(...(await services.recorded(ada.user.uuid, rows.at(-1)?.seq ?? 0)))
  }
  isRunning = false
  await program
  t.comment(`${rows.length} rows for ${appended} changes`)
  const gaps = rows.slice(1).map(({ at }, index) => at.getTime() - (rows[index]?.at.getTime() ?? 0))
  for (const [index, gap] of gaps.entries()) {
    const pause = 250 * 2 ** index
    t.ok(gap >= pause - 5, `${gap} ms after row ${index}`)
  }

  const { size } = await stat(file)
  const ended = performance.now()
  for (let at = cursor; rows.at(-1)?.size !== size; ) {
    if (performance.now() - ended > timeLimitMs) throw new Error('the last state has no row')
    at = (await page(ada, `?after=${at}&wait=5`)).cursor
    rows.push(...(await services.recorded(ada.user.uuid, rows.at(-1)?.seq ?? 0)))
  }
  t.comment(`the last row came after ${Math.round(performance.now() - ended)} ms`)
  t.ok(rows.length <= 6, `${rows.length} rows`)
})

t.test('however fast other programs change a few paths, the journal shows the end', async (t) => {
  const { node, services } = await start(t)
  const name = fc.constantFrom('a', 'b', 'c')
  const path = fc.array(name, { minLength: 1, maxLength: 2 }).map((names) => names.join('/'))
  const kind = fc.constantFrom('write', 'write', 'mkdir', 'remove', 'rename')
  const step = fc.record({ kind, path, to: path, restMs: fc.constantFrom(0, 0, 1, 30) })
  const perform = async (folder: string, { kind, path, to, restMs }: FcValue<typeof step>) => {
    const at = join(folder, path)
    const program = {
      write: () => store(at, 'x'.repeat(Math.ceil(Math.random() * 1000))),
      mkdir: () => mkdir(at, { recursive: true }),
      remove: () => rm(at, { recursive: true, force: true }),
      rename: () => rename(at, join(folder, to)),
    }
    // The program may fail, as over a file that is no folder.
    await program[kind as keyof typeof program]().catch(() => {})
    await delay(restMs)
  }
  const property = fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
    const user = await node.signIn()
    await compared(services.changes, user)
    const folder = folderOf(node, user)
    await mkdir(folder, { recursive: true })
    for (const one of steps) await perform(folder, one)
    const { cursor } = await page(user)
    const found = await sizesIn(folder)
    const end = performance.now() + timeLimitMs
    for (let at = cursor; ; ) {
      const recorded = [...replay(await services.recorded(user.user.uuid))].sort()
      if (JSON.stringify(recorded) === JSON.stringify(found)) return
      if (performance.now() > end)
        throw new Error(`recorded: ${JSON.stringify(recorded)}, found: ${JSON.stringify(found)}`)
      at = (await page(user, `?after=${at}&wait=1`)).cursor
    }
  })
  await fc.assert(property, {
    numRuns: Number(process.env.TEST_RUNS ?? 5),
    seed: Number(process.env.TEST_SEED ?? 4200),
  })
})

// More files than are compared in one turn.
t.test('a folder of 2,000 files appears and disappears', async (t) => {
  const { node, services } = await start(t)
  const ada = await node.signIn()
  await compared(services.changes, ada)
  const { cursor: began } = await page(ada)
  const outside = join(node.dataFolder, 'outside')
  await mkdir(join(outside, 'source', 'sub'), { recursive: true })
  for (let index = 0; index < 2000; index += 1)
    await writeFile(join(outside, 'source', index % 2 === 0 ? 'sub' : '', `${index}`), 'x')
  const folder = folderOf(node, ada)
  await mkdir(folder, { recursive: true })
  const begun = performance.now()
  await rename(join(outside, 'source'), join(folder, 'big'))
  const files = new Set<string>()
  let cursor = began
  while (files.size < 2000) {
    if (performance.now() - begun > timeLimitMs) throw new Error(`${files.size} rows`)
    const next = await page(ada, `?after=${cursor}&wait=5`)
    for (const { op, path } of next.changes) if (op === 'write') files.add(path)
    cursor = next.cursor
  }
  t.comment(`2,000 rows after ${Math.round(performance.now() - begun)} ms`)
  const rows = await services.recorded(ada.user.uuid)
  t.equal(rows.filter(({ op }) => op === 'write').length, 2000, 'each file has one row')
  await rm(join(folder, 'big'), { recursive: true })
  await untilChanges(ada, cursor, 'delete /big by disk')
  t.comment(`deleted after ${Math.round(performance.now() - begun)} ms`)
})

t.test('changes that were made while the node was down are found after its start', async (t) => {
  const dataFolder = t.testdir()
  const first = await start(t, dataFolder)
  const ada = await first.node.signIn()
  await put(ada, '/kept', 'x')
  await put(ada, '/edited', 'x')
  await put(ada, '/folder/deleted', 'x')
  const { cursor } = await page(ada)
  await put(ada, '/later', 'x')
  await first.node.stop()
  const folder = folderOf(first.node, ada)
  await writeFile(join(folder, 'edited'), 'edited')
  await rm(join(folder, 'folder'), { recursive: true })
  await store(join(folder, 'new', 'file'), 'x')

  const second = await start(t, dataFolder)
  const rows = await untilChanges(
    second.known(ada),
    cursor,
    'write /edited by disk',
    'delete /folder by disk',
    'mkdir /new by disk',
    'write /new/file by disk',
  )
  t.strictSame(rows.toSorted(), [
    'delete /folder by disk',
    'mkdir /new by disk',
    'write /edited by disk',
    'write /later',
    'write /new/file by disk',
  ])
  await second.node.stop()
})

t.test('nothing is taken as deleted when the disk is not mounted', async (t) => {
  const dataFolder = t.testdir()
  const first = await start(t, dataFolder)
  const ada = await first.node.signIn()
  for (let index = 0; index < 20; index += 1) await put(ada, `/folder/${index}`, 'x')
  const { cursor } = await page(ada)
  await first.node.stop()
  const root = join(dataFolder, 'files')
  await rename(root, join(dataFolder, 'elsewhere'))
  await mkdir(root)

  const second = await start(t, dataFolder)
  await compared(second.services.changes, ada)
  await put(second.known(ada), '/uploaded into the wrong folder', 'x')
  await store(join(folderOf(second.node, ada), 'other'), 'x')
  t.strictSame(await untilChanges(second.known(ada), cursor, 'write /other by disk'), [
    'write /uploaded into the wrong folder',
    'write /other by disk',
  ])
  await second.node.stop()

  await rm(root, { recursive: true })
  await rename(join(dataFolder, 'elsewhere'), root)
  await rm(join(folderOf(first.node, ada), 'folder', '7'))
  const third = await start(t, dataFolder)
  const rows = await untilChanges(third.known(ada), cursor, 'delete /folder/7 by disk')
  const deleted = rows.filter((row) => row.startsWith('delete'))
  t.ok(deleted.every((row) => !row.startsWith('delete /folder') || row === 'delete /folder/7 by disk'))
  await third.node.stop()
})

t.test('nothing is taken as deleted when the storage folder goes while the node runs', async (t) => {
  const { node, services } = await start(t)
  const ada = await node.signIn()
  await put(ada, '/folder/file', 'x')
  const { cursor } = await page(ada)
  const root = join(node.dataFolder, 'files')
  await rename(root, join(node.dataFolder, 'elsewhere'))
  await mkdir(join(root, ada.user.uuid), { recursive: true })
  await put(ada, '/after', 'x')
  await untilChanges(ada, cursor, 'write /after')
  await compared(services.changes, ada)
  t.strictSame((await page(ada, `?after=${cursor}`)).changes.map(said), ['write /after'])
})

t.test(
  'a hint to look everywhere finds all changes, and a backend that does not answer deletes nothing',
  async (t) => {
    const shaky = shakyBackend({ watches: true })
    const { node, memory } = await startShaky(t, shaky)
    const ada = await node.signIn()
    for (const name of ['a', 'b', 'folder/c']) await put(ada, `/cold/${name}`, 'x')
    const { cursor } = await page(ada)
    const write = (path: string) =>
      memory.write(`/${ada.user.uuid}${path}`, Readable.from([Buffer.from('y')]))
    await write('/new/d')
    await memory.remove(`/${ada.user.uuid}/folder`)
    shaky.hint('/')
    const found = ['mkdir /cold/new by disk', 'write /cold/new/d by disk', 'delete /cold/folder by disk']
    t.strictSame((await untilChanges(ada, cursor, ...found)).toSorted(), found.toSorted())

    const asked = Promise.withResolvers<void>()
    shaky.beforeStat = async () => asked.resolve()
    shaky.isReachable = false
    shaky.hint(`/${ada.user.uuid}/b`)
    await asked.promise
    shaky.isReachable = true
    await put(ada, '/cold/last', 'x')
    const later = await page(ada, `?after=${cursor}`)
    t.notOk(later.changes.map(said).includes('delete /cold/b by disk'))
  },
)

t.test('a follower of the index gets the entries of a disk again that is mounted again', async (t) => {
  const shaky = shakyBackend({ watches: true })
  const { node, services } = await startShaky(t, shaky)
  const ada = await node.signIn()
  await put(ada, '/cold/file', 'x')
  await compared(services.changes, ada)
  const index = services.index.for(ada.user)
  const [known] = (await index.changed('')).entries.filter(({ path }) => path === '/cold/file')
  const mountDisk = async (id: string, isThere: () => Promise<boolean>) => {
    shaky.storageId = id
    shaky.hint('/')
    while (!(await isThere())) await delay(5)
  }
  const isKnown = async () => (await index.entry(known?.id ?? '')) !== null
  await mountDisk('other', async () => !(await isKnown()))
  const { cursor } = await index.changed('')
  await mountDisk('memory', isKnown)
  t.match((await index.changed(cursor)).entries, [known], 'also without a change since then')
})

t.test('changes are found by what listings tell, if they tell no revisions', async (t) => {
  const counting = countingBackend({}, { listsRevisions: false })
  const services = captureServices()
  const node = await createFilesNode(
    { mounts: { '/cold': 'counting' } },
    { plugins: [services.plugin, counting.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  // Hashing in the background looks a file up after it has read it.
  counting.beforeRead = async () => {
    throw new NodekeepError('NOT_FOUND', 'Nothing is hashed.')
  }
  const memory = services.backends.get('memory') as StorageBackend
  const write = (name: string, text: string) =>
    memory.write(`/${ada.user.uuid}/${name}`, Readable.from([Buffer.from(text)]))
  for (const name of ['a', 'b', 'c']) await put(ada, `/cold/${name}`, 'one')
  let { cursor } = await page(ada)

  /** Scans everything once, by the only hint that such a storage gives. Returns the changes, and how often the storage was asked. */
  let scans = 0
  const scan = async (...wanted: string[]) => {
    let rows: string[] = []
    scans += 1
    const marker = `z${scans}`
    const { stat } = await counting.count(async () => {
      await write(marker, 'x')
      counting.hint()
      rows = await untilChanges(ada, cursor, `write /cold/${marker} by disk`, ...wanted)
    })
    cursor = (await page(ada)).cursor
    return [rows.filter((row) => !row.includes(marker)), (stat ?? 0) - 1]
  }
  // The first scan also looks for what is kept.
  await scan()
  t.strictSame(await scan(), [[], 0], 'the index has what it needs from when it was built')
  await put(ada, '/cold/new', 'x')
  await put(ada, '/cold/a', 'two')
  t.strictSame(
    await scan(),
    [['write /cold/new', 'write /cold/a'], 2],
    'a file that the node wrote is looked up once, and has no row by another program',
  )
  t.strictSame(await scan(), [[], 0], 'and never again')
  await write('b', 'two')
  t.strictSame(await scan(), [['write /cold/b by disk'], 1], 'a file of the same size has another etag')
  await write('a', 'longer')
  await memory.remove(`/${ada.user.uuid}/c`)
  const both = ['write /cold/a by disk', 'delete /cold/c by disk']
  t.strictSame(await scan(...both), [both, 2])
  t.strictSame(await scan(), [[], 0])
})

t.test('the files of a user whom nobody follows are in the index, and are not watched', async (t) => {
  const shaky = shakyBackend({ watches: true })
  let isWatched = false
  Object.defineProperty(shaky, 'hint', { set: () => (isWatched = true) })
  const { node, services, memory } = await startShaky(t, shaky)
  const ada = await node.signIn()
  await memory.write(`/${ada.user.uuid}/folder/before`, Readable.from([Buffer.from('four')]))
  await put(ada, '/cold/file', 'x')
  await services.untilIndexed(ada)
  const { bytes, entries, folders } = await services.index.for(ada.user).usage('/cold')
  t.strictSame([bytes, entries], [5, 3])
  t.match(folders, [{ path: '/cold/folder', size: 4, below: 1 }])
  t.notOk(isWatched)
  await page(ada)
  t.ok(isWatched)
})

t.test('a client that must list again misses nothing after it', async (t) => {
  const dataFolder = t.testdir()
  const first = await start(t, dataFolder)
  const ada = await first.node.signIn()
  for (let index = 0; index < 300; index += 1)
    await store(join(folderOf(first.node, ada), `${index}`, 'file'), 'x')
  const { cursor } = await page(ada)
  await first.node.stop()
  const { node, known } = await start(t, dataFolder, { mounts: { '/mem': 'memory' } })
  const again = await page(known(ada), `?after=${cursor}`)
  t.match(again, { reset: true })
  for (const folder of ['0', '150', '299']) await store(join(folderOf(node, ada), folder, 'later'), 'x')
  const wanted = ['0', '150', '299'].map((folder) => `write /${folder}/later by disk`)
  await untilChanges(known(ada), again.cursor, ...wanted)
})

t.test('neither users with many folders nor one large folder hold up others', async (t) => {
  const shaky = shakyBackend({ watches: true })
  const { node, services, memory } = await startShaky(t, shaky)
  const write = ({ user }: TestUser, path: string) =>
    memory.write(`/${user.uuid}${path}`, Readable.from([Buffer.from('x')]))
  for (const [count, pathOf] of [
    [300, (index: number) => `/${index}/file`],
    // Larger than what is compared in one turn.
    [2000, (index: number) => `/folder/${index}`],
  ] as const) {
    const [ada, grace] = [await node.signIn(), await node.signIn()]
    for (let index = 0; index < count; index += 1) await write(ada, pathOf(index))
    await write(grace, '/file')
    const listed: string[] = []
    let other: Promise<void> | undefined
    shaky.whileListing = async (folder) => {
      listed.push(folder.slice(1, 37))
      // The scan of a folder in the home of the first user has begun.
      if (folder.startsWith(`/${ada.user.uuid}/`)) other ??= compared(services.changes, grace)
    }
    await compared(services.changes, ada)
    await other
    const [first, last] = [listed.indexOf(grace.user.uuid), listed.lastIndexOf(ada.user.uuid)]
    t.ok(first !== -1 && first < last, `${pathOf(0)}: entry ${first}, in the middle of ${last}`)
  }
})

t.test(
  'an entry that a program makes for a moment is taken back, and one that stays as it is has no row',
  async (t) => {
    const shaky = shakyBackend({ watches: true })
    const { node, memory } = await startShaky(t, shaky)
    const ada = await node.signIn()
    await put(ada, '/cold/kept', 'x')
    const { cursor } = await page(ada)
    const folder = `/${ada.user.uuid}`
    const names = async () => {
      const answer = await ada.fetch('/readdir?path=/cold')
      return ((await answer.json()) as { name: string }[]).map(({ name }) => name)
    }
    await memory.write(`${folder}/lock`, Readable.from([Buffer.from('x')]))
    t.strictSame(await names(), ['kept', 'lock'], 'a reader looks just now')
    await memory.remove(`${folder}/lock`)
    for (const name of ['kept', 'lock']) shaky.hint(`${folder}/${name}`)
    await untilChanges(ada, cursor, 'delete /cold/lock by disk')
    await memory.makeDirectory(`${folder}/last`)
    shaky.hint(`${folder}/last`)
    t.strictSame(await untilChanges(ada, cursor, 'mkdir /cold/last by disk'), [
      'delete /cold/lock by disk',
      'mkdir /cold/last by disk',
    ])
  },
)

t.test('a folder that is found gone after what was in it is one deletion', async (t) => {
  const shaky = shakyBackend({ watches: true })
  const { node, memory } = await startShaky(t, shaky)
  const ada = await node.signIn()
  await put(ada, '/cold/folder/in', 'x')
  const { cursor } = await page(ada)
  const folder = `/${ada.user.uuid}`
  await memory.remove(`${folder}/folder`)
  const scanned = Promise.withResolvers<void>()
  shaky.beforeStat = async () => scanned.resolve()
  shaky.hint(`${folder}/folder/in`)
  await scanned.promise
  shaky.hint(`${folder}/folder`)
  await untilChanges(ada, cursor, 'delete /cold/folder by disk')
  await memory.makeDirectory(`${folder}/last`)
  shaky.hint(`${folder}/last`)
  t.strictSame(await untilChanges(ada, cursor, 'mkdir /cold/last by disk'), [
    'delete /cold/folder by disk',
    'mkdir /cold/last by disk',
  ])
})

t.test('late and repeated hints of what the node moved or deleted give no rows', async (t) => {
  const shaky = shakyBackend({ watches: true })
  const { node, memory } = await startShaky(t, shaky)
  const ada = await node.signIn()
  const folder = `/${ada.user.uuid}`
  for (const path of ['/cold/moved', '/cold/deleted', '/cold/moved/in', '/cold/deleted/in'])
    await post(ada, 'mkdir', { path })
  const { cursor } = await page(ada)
  /** Gives hints, and waits until they were followed. */
  const followed = async (last: string, ...names: readonly string[]) => {
    await memory.write(`${folder}/${last}`, Readable.from(['x']))
    for (const name of [...names, last]) shaky.hint(`${folder}/${name}`)
    return untilChanges(ada, cursor, `write /cold/${last} by disk`)
  }
  await post(ada, 'move', { source: '/cold/moved', destination: '/cold/here' })
  await post(ada, 'delete', { path: '/cold/deleted' })
  await followed('first', 'moved', 'deleted')
  const rows = await followed('last', 'moved/in', 'deleted/in', 'moved', 'deleted')
  t.same(
    rows.filter((row) => row.endsWith('by disk')),
    ['write /cold/first by disk', 'write /cold/last by disk'],
  )
})

t.test('after a restart, a new follower does not wait for the scan', async (t) => {
  const dataFolder = t.testdir()
  const first = await startShaky(t, shakyBackend({ watches: true }), dataFolder)
  const ada = await first.node.signIn()
  await put(ada, '/cold/gone', 'x')
  await page(ada)
  await first.node.stop()

  const shaky = shakyBackend({ watches: true })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  shaky.beforeStat = () => released
  const { node, memory, services } = await startShaky(t, shaky, dataFolder)
  await compared(services.changes, ada)
  const { seq } = await services.changes.head(ada.user.uuid)
  await memory.write(`/${ada.user.uuid}/later`, Readable.from([Buffer.from('x')]))
  shaky.hint(`/${ada.user.uuid}/later`)
  release()
  while ((await services.recorded(ada.user.uuid, seq)).length < 2) await delay(10)
  const rows = (await services.recorded(ada.user.uuid, seq)).map(said)
  t.strictSame(rows.toSorted(), ['delete /cold/gone by disk', 'write /cold/later by disk'])
  await node.stop()
})

t.test('the log warns when changes of other programs cannot be recorded', async (t) => {
  const warnings: string[] = []
  const onLog = (line: string) => void warnings.push(line)
  const shaky = shakyBackend({ watches: true })
  shaky.whileListing = async () => {
    throw new Error('A fault of the storage.')
  }
  const node = await createFilesNode(
    { mounts: { '/': 'shaky' } },
    { plugins: [shaky.plugin], logLevel: 'warn', onLog },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/file', 'x')
  t.equal((await ada.fetch('/api/files/changes')).status, 200, 'the feed itself goes on')
  t.match(warnings.join(), /Changes of other programs cannot be recorded now/)
})

t.test('a deleted user leaves nothing in the index', async (t) => {
  const { node, services } = await start(t, t.testdir())
  const ada = await node.signIn()
  await put(ada, '/a secret name', 'x')
  await page(ada)
  const holder = services.userData.get('files')
  await holder?.erase(ada.user.uuid, new AbortController().signal)
  await node.stop()
  const kept = join(node.dataFolder, 'plugins', 'files', 'not-in-backups')
  for (const name of await readdir(kept)) {
    const bytes = await readFile(join(kept, name))
    t.notOk(bytes.includes('a secret name'), name)
  }
})

t.test('a comparison that is running ends before its user is erased', async (t) => {
  const shaky = shakyBackend()
  const { node, services, memory } = await startShaky(t, shaky)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const listing = Promise.withResolvers<void>()
  const listed = Promise.withResolvers<void>()
  shaky.whileListing = async (folder) => {
    if (!folder.startsWith(`/${ada.user.uuid}`)) return
    listed.resolve()
    await listing.promise
  }
  await memory.write(`/${ada.user.uuid}/secret`, Readable.from(['x']))
  await put(ada, '/cold/own', 'x')
  await listed.promise
  const holder = services.userData.get('files')
  const erased = Promise.resolve(holder?.erase(ada.user.uuid, new AbortController().signal))
  // Without the wait for the comparison, this is the end of the erasure.
  await Promise.race([erased, delay(200)])
  await put(bob, '/cold/bob', 'x')
  listing.resolve()
  await erased
  await services.untilIndexed(bob)
  const { entries } = await services.index.for(bob.user).changed('')
  t.same(
    entries.map(({ path }) => path),
    ['/cold/bob'],
    'no other user gets its entries',
  )
  t.same(await services.recorded(ada.user.uuid), [])
  const { entries: left } = await services.index.for(ada.user).changed('')
  t.same(left, [])
})

t.test(
  'the node’s own changes give no rows by the disk, but perhaps of a path where nothing is',
  async (t) => {
    const { node, services } = await start(t, undefined, { mounts: { '/mem': 'memory' } })
    const name = fc.constantFrom('a', 'b', 'c')
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`)
    const place = fc.oneof(
      { weight: 4, arbitrary: path },
      path.map((one) => `/mem${one}`),
    )
    const operation = fc.oneof(
      fc.record({ kind: fc.constant('write' as const), path: place }),
      fc.record({ kind: fc.constant('mkdir' as const), path: place }),
      fc.record({ kind: fc.constant('delete' as const), path: place }),
      fc.record({ kind: fc.constantFrom('move' as const, 'copy' as const), path: place, to: place }),
      fc.record({ kind: fc.constant('outside' as const), path }),
    )
    const perform = async (user: TestUser, step: FcValue<typeof operation>) => {
      if (step.kind === 'outside') {
        const file = join(folderOf(node, user), `outside${step.path.replaceAll('/', '-')}`)
        return store(file, `${Math.random()}`)
      }
      const answer =
        step.kind === 'write'
          ? await put(user, step.path, `${Math.random()}`)
          : step.kind === 'move' || step.kind === 'copy'
            ? await post(user, step.kind === 'move' ? 'move' : 'api/files/copy', {
                source: step.path,
                destination: step.to,
                overwrite: true,
              })
            : await post(user, step.kind, { path: step.path })
      await answer.body?.cancel()
    }
    const property = fc.asyncProperty(
      fc.array(operation, { minLength: 20, maxLength: 60 }),
      async (steps) => {
        const user = await node.signIn()
        await compared(services.changes, user)
        const { cursor } = await page(user)
        // Four writers at once, beside the watch.
        await Promise.all(
          [0, 1, 2, 3].map(async (writer) => {
            for (const [index, step] of steps.entries()) if (index % 4 === writer) await perform(user, step)
          }),
        )
        await store(join(folderOf(node, user), 'outside last'), 'x')
        const rows = await untilChanges(user, cursor, 'write /outside last by disk')
        const wrong = rows.filter((row) => row.endsWith('by disk') && !row.includes(' /outside'))
        if (wrong.length > 0) throw new Error(`rows by the disk: ${wrong.join(', ')}`)
        const outside = new Set(
          steps
            .filter(({ kind }) => kind === 'outside')
            .map((step) => `/outside${step.path.replaceAll('/', '-')}`),
        )
        for (const file of outside)
          if (!rows.includes(`write ${file} by disk`)) throw new Error(`no row for ${file}`)
      },
    )
    await fc.assert(property, {
      numRuns: Number(process.env.TEST_RUNS ?? 10),
      seed: Number(process.env.TEST_SEED ?? 4200),
    })
  },
)
