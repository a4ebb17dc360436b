import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test, test } from 'tap'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { RestoreFolders } from '../../src/restore/restore-folder.ts'
import { fileEntry, makeBackup, participantPlugin, partOf, put, unpacked } from '../fixtures/backup-node.ts'
import { houseFor, read, restore, restoresIn, untilFinished } from './fixtures/house.ts'

t.jobs = 3

test('a restore is prepared, compared and confirmed in two steps, and a later one takes its place', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  await put(owner, '/a', 'one')
  const one = await makeBackup(owner)
  await put(owner, '/a', 'two')
  const two = await makeBackup(owner)
  await put(owner, '/a', 'three')

  const preview = await restore(owner, { filename: one.filename, confirm: false })
  t.match(await preview.json(), { planned: false, addedUsers: { count: 0 }, removedUsers: { count: 0 } })
  t.notOk(existsSync(join(house.data, 'restore', 'plan.json')), 'nothing is planned yet')
  const first = (await (await restore(owner, { filename: one.filename, confirm: true })).json()) as {
    prepared: string
  }
  const second = await restore(owner, { filename: two.filename, confirm: false })
  const { prepared } = (await second.json()) as { prepared: string }
  t.match(await (await restore(owner, { prepared, confirm: true })).json(), { planned: true })
  t.notOk(restoresIn(house.data).includes(first.prepared), 'the former plan left nothing')

  owner = (await house.start()).owner
  t.equal(await read(owner, '/a'), 'two')
  const root = join(house.data, 'files', '.nodekeep', 'restore', prepared, 'previous')
  t.equal(readFileSync(join(root, owner.user.uuid, 'a'), 'utf8'), 'three', 'what was there before is kept')

  await restore(owner, { filename: one.filename, confirm: true })
  owner = (await house.start()).owner
  t.equal(await read(owner, '/a'), 'one')
  t.equal(await read(owner, '/b'), 404)
})

test('the comparison names the plugins whose data is replaced, also where it is no state', async (t) => {
  const house = houseFor(t)
  const withFiles = participantPlugin(
    'notes',
    partOf(async function* () {
      yield fileEntry('note', 'a note')
    }),
  )
  const { owner } = await house.start({ plugins: [withFiles] })
  const { filename } = await makeBackup(owner)
  const data = join(house.data, 'plugins')
  mkdirSync(join(data, 'newer'))
  writeFileSync(join(data, 'newer', 'list.json'), '{}')
  mkdirSync(join(data, 'cache', 'not-in-backups'), { recursive: true })
  const answer = await restore(owner, { filename, confirm: false })
  const { plugins } = (await answer.json()) as { plugins: { count: number; first: string[] } }
  t.ok(plugins.first.includes('notes'), 'files come back')
  t.ok(plugins.first.includes('newer'), 'files go away')
  t.notOk(plugins.first.includes('cache'), 'what no backup has is made again')
  t.equal(plugins.count, plugins.first.length)
})

test('what cannot be restored is refused by name, and leaves nothing', async (t) => {
  const house = houseFor(t)
  const key = await generateKey()
  const stranger = await generateKey()
  const { owner } = await house.start({ config: { backup: { recipients: [key.recipient] } } })
  await put(owner, '/a', 'secret')
  const { filename } = await makeBackup(owner)
  const archive = join(house.data, 'backups', filename)
  const state = readdirSync(join(house.data, 'files'))
  const refused = async (body: object, status: number, message: RegExp) => {
    const answer = await restore(owner, { filename, confirm: true, ...body })
    t.equal(answer.status, status)
    t.match(await answer.json(), { error: true, message })
    t.strictSame(restoresIn(house.data), [])
    t.notOk(existsSync(join(house.data, 'restore', 'plan.json')))
    t.strictSame(readdirSync(join(house.data, 'files')), state)
    t.equal(await read(owner, '/a'), 'secret')
  }
  await refused({}, 400, /encrypted/)
  await refused({ key: stranger.identity }, 400, /key/)
  await refused({ key: 'AGE-SECRET-KEY-1TYPO' }, 400, /key/i)
  await refused({ key: key.identity, without: ['nowhere'] }, 400, /"nowhere".*local/)
  await refused({ key: key.identity, restart: true }, 409, /start/)
  await refused({ filename: '../state.sqlite' }, 404, /no backup/)
  const bytes = readFileSync(archive)
  const damaged = Buffer.from(bytes)
  damaged[Math.floor(bytes.length * 0.7)] = (damaged[Math.floor(bytes.length * 0.7)] ?? 0) ^ 1
  writeFileSync(archive, damaged)
  await refused({ key: key.identity }, 400, /archive/)
  writeFileSync(archive, bytes)
  t.equal((await restore(owner, { filename, key: key.identity, confirm: true })).status, 200)
})

test('files on a storage of blocks are plain files in a backup, and come back', async (t) => {
  const house = houseFor(t)
  const config = { storage: { mounts: { '/': 'ipfs' } }, plugins: { ipfs: true } }
  const started = await house.start({ config })
  let { owner } = started
  const large = 'block'.repeat(500_000)
  await put(owner, '/folder/large', large)
  await put(owner, '/removed later', 'there again')
  const { filename } = await makeBackup(owner)
  const folder = await unpacked(t, started.node, filename)
  const file = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith(join(owner.user.uuid, 'folder', 'large')),
  )
  t.equal(readFileSync(join(folder, file ?? ''), 'utf8'), large)
  const packs = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.car'),
  )
  t.strictSame(packs, [], 'nothing is in a backup twice')

  await put(owner, '/folder/large', 'changed')
  await owner.fetch('/delete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/removed later' }),
  })
  t.equal((await restore(owner, { filename, confirm: true })).status, 200)
  owner = (await house.start({ config })).owner
  let found = await read(owner, '/folder/large')
  while (found === 503) found = await read(owner, '/folder/large')
  t.equal(found, large)
  t.equal(await read(owner, '/removed later'), 'there again')
})

test('the identity of the backup comes back, or the node gets a new one', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  const key = () => readFileSync(join(house.data, 'identity', 'node.key'), 'utf8')
  const original = key()
  const { filename } = await makeBackup(owner)
  const identity = async (body: object) => {
    const answer = await restore(owner, { filename, confirm: true, ...body })
    return ((await answer.json()) as { identity: string }).identity
  }
  const log: string[] = []
  const warnings = () => log.filter((line) => line.includes('must not run any more')).length
  t.equal(await identity({}), 'same')
  t.equal(await identity({ newIdentity: true }), 'new')
  owner = (await house.start({ onLog: (line) => log.push(line) })).owner
  t.not(key(), original)
  t.equal(await identity({}), 'another')
  t.equal(warnings(), 0)
  owner = (await house.start({ onLog: (line) => log.push(line) })).owner
  t.equal(key(), original)
  t.equal(await identity({}), 'same')
  t.equal(warnings(), 1)
})

test('files go to the folder that this node has for their storage, and into storages without a folder', async (t) => {
  const house = houseFor(t)
  const mounts = { mounts: { '/other': 'other', '/memory': 'memory' } }
  const plugins = { other: { from: 'storage-local' }, 'storage-memory': true }
  const roots = mkdtempSync(join(tmpdir(), 'nodekeep-roots-'))
  t.teardown(() => rmSync(roots, { recursive: true, force: true }))
  const config = (root: string) => ({ storage: mounts, plugins, other: { root: join(roots, root) } })
  let { owner } = await house.start({ config: config('first') })
  await put(owner, '/other/a', 'on another disk')
  await put(owner, '/memory/folder/b', 'in memory')
  const { filename } = await makeBackup(owner)

  // The other root has a path of its own now, as on another machine.
  owner = (await house.start({ config: config('second') })).owner
  t.equal(await read(owner, '/other/a'), 404)
  t.equal((await restore(owner, { filename, confirm: true })).status, 200)
  owner = (await house.start({ config: config('second') })).owner
  t.equal(await read(owner, '/other/a'), 'on another disk')
  let inMemory = await read(owner, '/memory/folder/b')
  while (inMemory === 503) inMemory = await read(owner, '/memory/folder/b')
  t.equal(inMemory, 'in memory')
  t.notOk(readdirSync(join(house.data, 'plugins', 'files')).includes('written'))

  // A node without these storages refuses, until the person leaves them out.
  owner = (await house.start()).owner
  const answer = await restore(owner, { filename, confirm: true })
  t.equal(answer.status, 409)
  t.match(await answer.json(), { message: /the storage "(other|memory)", which this node does not have/ })
  const without = { filename, confirm: true, without: ['other', 'memory'] }
  const { prepared } = (await (await restore(owner, without)).json()) as { prepared: string }
  await house.start()
  const left = join(house.data, 'restore', prepared, 'left-out', 'other', owner.user.uuid, 'a')
  t.equal(readFileSync(left, 'utf8'), 'on another disk')
})

test('a restore whose process was killed is removed by the next start or restore, and the node is as it was', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  await put(owner, '/a', 'content')
  const { filename } = await makeBackup(owner)
  const name = filename.replace('.tar.gz', '')
  const leave = () => {
    const elsewhere = join(house.data, 'files', '.nodekeep', 'restore', name)
    mkdirSync(join(elsewhere, 'new', 'x'), { recursive: true })
    mkdirSync(join(house.data, 'restore', name, 'unpacked'), { recursive: true })
    const record = {
      format: 1,
      state: 'unpacking',
      backup: filename,
      moment: '',
      process: 0,
      elsewhere: [elsewhere],
    }
    writeFileSync(join(house.data, 'restore', name, 'restore.json'), JSON.stringify(record))
    return elsewhere
  }
  const first = leave()
  owner = (await house.start()).owner
  t.equal((await restore(owner, { filename, confirm: false })).status, 200, 'the name is free again')
  t.notOk(existsSync(join(first, 'new', 'x')))
  t.equal(await read(owner, '/a'), 'content')
})

test('former data stays when a start was killed before it noted the restore, and another restore comes', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  await put(owner, '/a', 'one')
  const { filename } = await makeBackup(owner)
  await put(owner, '/a', 'two')
  const answer = await restore(owner, { filename, confirm: true })
  const { prepared } = (await answer.json()) as { prepared: string }
  owner = (await house.start()).owner
  const record = join(house.data, 'restore', prepared, 'restore.json')
  const former = join(house.data, 'files/.nodekeep/restore', prepared, 'previous', owner.user.uuid, 'a')
  const unnoted = async (state: 'ready' | 'planned') => {
    await untilFinished(owner)
    writeFileSync(record, JSON.stringify({ ...JSON.parse(readFileSync(record, 'utf8')), state }))
  }
  // Earlier releases wrote "planned".
  await unnoted('planned')
  owner = (await house.start()).owner
  await untilFinished(owner)
  t.equal(readFileSync(former, 'utf8'), 'two', 'the next start leaves it')
  t.match(readFileSync(record, 'utf8'), /"applied"/)
  await unnoted('ready')
  t.equal((await restore(owner, { prepared, confirm: true })).status, 404, 'it is not restored again')
  await restore(owner, { filename, confirm: true })
  t.equal(readFileSync(former, 'utf8'), 'two', 'the next restore leaves it')
  t.match(readFileSync(record, 'utf8'), /"applied"/)
  await house.start()
  t.equal(readFileSync(former, 'utf8'), 'two')
})

test('a restore that a start of an earlier release has begun is completed', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  await put(owner, '/a', 'one')
  const { filename } = await makeBackup(owner)
  await put(owner, '/a', 'two')
  const answer = await restore(owner, { filename, confirm: true })
  const { prepared } = (await answer.json()) as { prepared: string }
  await house.stop()
  const folder = join(house.data, 'restore', prepared)
  const [plan, record] = [join(house.data, 'restore/plan.json'), join(folder, 'restore.json')]
  writeFileSync(record, JSON.stringify({ ...JSON.parse(readFileSync(record, 'utf8')), state: 'planned' }))
  writeFileSync(plan, JSON.stringify({ ...JSON.parse(readFileSync(plan, 'utf8')), hasBegun: true }))
  mkdirSync(join(folder, 'previous'))
  renameSync(join(house.data, 'state.sqlite'), join(folder, 'previous/state.sqlite'))
  owner = (await house.start()).owner
  t.equal(await read(owner, '/a'), 'one')
  await untilFinished(owner)
  t.match(readFileSync(record, 'utf8'), /"applied"/)
  const former = join(house.data, 'files/.nodekeep/restore', prepared, 'previous', owner.user.uuid, 'a')
  t.equal(readFileSync(former, 'utf8'), 'two')
})

/** The restores of a node that is told of none. */
function foldersOf(data: string): RestoreFolders {
  return new RestoreFolders(data, {
    state: async () => ({ planned: null, applied: null }),
    folders: async () => [{ plugin: 'storage-local', key: 'root', path: join(data, 'files') }],
  })
}

/** Losses of the records of a restore, each with whether the start that applied the restore was cut after the first moves. */
const lostRecords: Record<string, [isCut: boolean, lose: (data: string, record: string) => void]> = {
  'the plan of a restore that has begun is removed': [
    true,
    (data) => rmSync(join(data, 'restore/plan.json')),
  ],
  'the plan has gone, and the record is damaged': [
    true,
    (data, record) => {
      rmSync(join(data, 'restore/plan.json'))
      writeFileSync(record, '')
    },
  ],
  'the record of an applied restore is damaged': [false, (_data, record) => writeFileSync(record, '\0\0')],
  'the kernel does not know of the applied restore': [
    false,
    (data) => rmSync(join(data, 'restore/applied.json')),
  ],
}

test('former data stays until it is forgotten, whatever records are lost', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  const { uuid } = owner.user
  await put(owner, '/a', 'one')
  const { filename } = await makeBackup(owner)
  await put(owner, '/a', 'two')
  const answer = await restore(owner, { filename, confirm: true })
  const { prepared } = (await answer.json()) as { prepared: string }
  await house.stop()
  const folder = join(house.data, 'restore', prepared)
  const record = join(folder, 'restore.json')
  const before = readFileSync(record)
  const elsewhere = join(house.data, 'files/.nodekeep/restore', prepared)
  // The data folder as a start leaves it that is cut after the first moves, and one that is cut before it notes the restore.
  const cut = copyOf(t, house.data)
  for (const path of ['restore', 'files/.nodekeep/restore']) mkdirSync(join(cut, path, prepared, 'previous'))
  renameSync(join(cut, 'state.sqlite'), join(cut, 'restore', prepared, 'previous/state.sqlite'))
  renameSync(join(cut, 'files', uuid), join(cut, 'files/.nodekeep/restore', prepared, 'previous', uuid))
  owner = (await house.start()).owner
  await untilFinished(owner)
  await house.stop()
  writeFileSync(record, before)
  const applied = copyOf(t, house.data)

  for (const [what, [isCut, lose]] of Object.entries(lostRecords)) {
    rmSync(house.data, { recursive: true })
    cpSync(isCut ? cut : applied, house.data, { recursive: true })
    lose(house.data, record)
    const check = (when: string) => {
      t.equal(readFileSync(join(elsewhere, 'previous', uuid, 'a'), 'utf8'), 'two', `${what}: ${when}`)
      t.ok(existsSync(join(folder, 'previous/state.sqlite')), `${what}: ${when}`)
    }
    owner = (await house.start()).owner
    t.equal((await restore(owner, { prepared, confirm: true })).status, 404, 'it is not restored again')
    check('after the next start')
    const status = await owner.fetch('/api/backup/status')
    const { previous } = (await status.json()) as { previous: { bytes: number }[] }
    t.equal(previous.length, 1, `${what}: it is listed`)
    t.ok((previous[0]?.bytes ?? 0) > statSync(join(folder, 'previous/state.sqlite')).size, 'with its size')
    t.equal((await restore(owner, { filename, confirm: true })).status, 200)
    owner = (await house.start()).owner
    await untilFinished(owner)
    check('after the next restore')
    await house.stop()
    await foldersOf(house.data).forgetPrevious()
    t.notOk(existsSync(folder), `${what}: it is forgotten`)
    t.notOk(existsSync(elsewhere))
  }
})

/** Copies a data folder for the time of a test. */
function copyOf(t: Test, data: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'nodekeep-data-'))
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(data, copy, { recursive: true })
  return copy
}

test('a backup is restored again after the former data of its first restore was deleted', async (t) => {
  const house = houseFor(t)
  let { owner } = await house.start()
  await put(owner, '/a', 'one')
  const { filename } = await makeBackup(owner)
  for (const round of [1, 2]) {
    await put(owner, '/a', 'later')
    t.equal((await restore(owner, { filename, confirm: true })).status, 200)
    owner = (await house.start()).owner
    t.equal(await read(owner, '/a'), 'one', `restore ${round}`)
    await untilFinished(owner)
    await foldersOf(house.data).forgetPrevious()
    owner = (await house.start()).owner
    t.equal(await read(owner, '/a'), 'one')
  }
})
