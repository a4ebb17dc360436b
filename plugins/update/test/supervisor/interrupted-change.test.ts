import fs, {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { mock } from 'node:test'
import { type Test, test } from 'tap'
import { SupervisedReleases } from '../../src/releases/supervised-releases.ts'
import { copyDatabases, databasesIn, putBackDatabases } from '../../src/supervisor/database-copies.ts'
import type { NodeProcess } from '../../src/supervisor/node-process.ts'
import { type ChangeOptions, ReleaseChanges } from '../../src/supervisor/release-changes.ts'
import { ReleaseFolder } from '../../src/supervisor/release-folder.ts'
import { type Change, changeOf, readHistory, SupervisorState } from '../../src/supervisor/supervisor-state.ts'

const quiet = { info() {}, warn() {}, error() {} }
const hour = 60 * 60 * 1000
const rowsFile = 'plugins/notes/rows.sqlite'

function open(data: string, file = rowsFile): DatabaseSync {
  mkdirSync(join(data, file, '..'), { recursive: true })
  const database = new DatabaseSync(join(data, file))
  database.exec('CREATE TABLE IF NOT EXISTS rows (text TEXT)')
  return database
}

function write(data: string, text: string): void {
  const database = open(data)
  database.prepare('INSERT INTO rows VALUES (?)').run(text)
  database.close()
}

function rows(data: string): unknown[] {
  const database = open(data)
  const found = database.prepare('SELECT text FROM rows').all()
  database.close()
  return found.map(({ text }) => text)
}

/** A data folder with databases, and with releases of which 1.0.0 is in use. */
function dataFolder(t: Test) {
  const data = t.testdir({ releases: {} })
  const releases = join(data, 'releases')
  for (const version of ['1.0.0', '2.0.0']) {
    mkdirSync(join(releases, version))
    const manifest = { version, schema: [] }
    writeFileSync(join(releases, version, 'release.json'), JSON.stringify(manifest))
  }
  symlinkSync('1.0.0', join(releases, 'current'))
  open(data, 'state.sqlite').close()
  write(data, 'before')
  const folder = new ReleaseFolder(releases)
  /** Starts a supervisor. */
  const begin = () => {
    const state = new SupervisorState(releases, quiet)
    return { state, changes: new ReleaseChanges(folder, state, quiet, { data, trialMs: 1000 }) }
  }
  return { data, releases, folder, begin }
}

/** Lets clients reach version 2.0.0, up to a step. */
function admit(folder: ReleaseFolder, state: SupervisorState, step: 'admitting' | 'installed' = 'installed') {
  const way = {
    from: '1.0.0',
    fromPath: folder.folderOf('1.0.0'),
    to: '2.0.0',
    toPath: folder.folderOf('2.0.0'),
  }
  const change = changeOf('admitting', way, null)
  state.enter(change)
  folder.link('former', way.fromPath)
  folder.link('current', way.toPath)
  if (step === 'installed') state.end(change, 'installed', null)
}

/** Keeps a supervisor from storing its files, as a full disk does. Returns what ends it. */
function keepFromStoring(releases: string): () => void {
  const drafts = ['state.json.new', 'history.json.new'].map((name) => join(releases, name))
  for (const draft of drafts) mkdirSync(draft)
  return () => {
    for (const draft of drafts) rmSync(draft, { recursive: true })
  }
}

/** How a change is carried out whose release passes its trial, or fails. */
function optionsWith(works: boolean): ChangeOptions {
  const ended = Promise.withResolvers<object>()
  const node = {
    get onTrial() {
      return works ? Promise.resolve([]) : Promise.reject(new Error('It fails.'))
    },
    health: async () => ({ serving: true, failing: [] }),
    ended: ended.promise,
    admit() {},
    kill: () => ended.resolve({}),
  }
  const { signal } = new AbortController()
  const startTrial = () => node as unknown as NodeProcess
  return { drainMs: 0, withoutRollback: true, startTrial, stopped: signal }
}

/**
 * Runs work that ends like a process that is killed before it changes the disk for a given time.
 *
 * @returns whether it was killed
 */
async function killed(before: number, work: (isKilled: () => boolean) => Promise<void>): Promise<boolean> {
  let left = before
  const killing = (['renameSync', 'rmSync', 'symlinkSync', 'writeFileSync'] as const).map((name) => {
    const real = fs[name] as (...given: unknown[]) => void
    return mock.method(fs, name, (...given: unknown[]) => {
      left -= 1
      if (left <= 0) throw new Error('The supervisor was killed.')
      real(...given)
    })
  })
  // A process that was killed stores nothing later.
  mock.timers.enable({ apis: ['setInterval'] })
  syncBuiltinESMExports()
  try {
    await work(() => left <= 0).catch((error) => {
      if (left > 0) throw error
    })
  } finally {
    for (const { mock: method } of killing) method.restore()
    mock.timers.reset()
    syncBuiltinESMExports()
  }
  return left <= 0
}

for (const [step, version, result] of [
  ['preparing', '1.0.0', 'failed'],
  ['trial', '1.0.0', 'failed'],
  ['restoring', '1.0.0', 'failed'],
  ['admitting', '2.0.0', 'installed'],
  ['going back', '1.0.0', 'went back'],
] as const) {
  test(`a supervisor that was killed while ${step} ends the change at its next start`, async (t) => {
    const { data, releases, folder, begin } = dataFolder(t)
    const isBack = step === 'going back'
    const [from, to] = isBack ? ['2.0.0', '1.0.0'] : ['1.0.0', '2.0.0']
    folder.link('current', join(releases, from))
    if (isBack || step === 'admitting') folder.link('former', join(releases, '1.0.0'))
    const copies = folder.copiesBefore(to)
    const databases = databasesIn(data)
    await copyDatabases(data, databases, copies, folder.copying)
    write(data, 'meanwhile')
    open(data, 'plugins/notes/new.sqlite').close()
    const change: Change = {
      step,
      from,
      fromPath: join(releases, from),
      to,
      toPath: join(releases, to),
      startedAt: new Date().toISOString(),
      reason: null,
      databases,
      closedBy: null,
      failedOnTrial: step === 'restoring',
    }
    begin().state.enter(change)
    // A supervisor that is killed again does the same again.
    for (const _ of [1, 2]) {
      const { state, changes } = begin()
      if (state.change === null) state.enter(change)
      await changes.recover()
      t.equal(readlinkSync(join(releases, 'current')), version)
      if (step === 'admitting') t.equal(state.change?.step, step, 'until clients reach the new version')
      await changes.served()
      t.equal(begin().state.change, null)
    }
    t.match(readHistory(releases), [{ from, to, result, failedOnTrial: step === 'restoring' }])
    t.equal(readHistory(releases).length, 1)
    const isRestored = step === 'trial' || step === 'restoring'
    t.same(rows(data), isRestored ? ['before'] : ['before', 'meanwhile'])
    t.equal(existsSync(join(data, 'plugins/notes/new.sqlite')), !isRestored)
    t.equal(existsSync(copies), step === 'admitting' || isBack, 'the copies of a version that ran stay')
  })
}

test('the copies of an update that was interrupted while they were made are no copies', async (t) => {
  const { data, releases, folder, begin } = dataFolder(t)
  const { changes } = begin()
  changes.beginAt(join(releases, '2.0.0'))
  mkdirSync(folder.copying)
  await changes.recover()
  t.notOk(existsSync(folder.copying))
  changes.beginAt(join(releases, '2.0.0'))
  await copyDatabases(data, databasesIn(data), folder.copiesBefore('2.0.0'), folder.copying)
  await begin().changes.recover()
  t.same(folder.copies(), [], 'the version was never started')
})

test('copies have what an interrupted transaction has overwritten', async (t) => {
  const { data, folder } = dataFolder(t)
  const database = open(data)
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1')
  const insert = database.prepare('INSERT INTO rows VALUES (?)')
  for (let count = 0; count < 100; count += 1) insert.run('x'.repeat(1000))
  const before = rows(data)
  database.exec("BEGIN; UPDATE rows SET text = 'lost'; SAVEPOINT spill")
  // These files are those of a process that was killed in the transaction.
  const file = join(data, 'plugins/notes/killed.sqlite')
  for (const suffix of ['', '-journal']) copyFileSync(join(data, rowsFile) + suffix, file + suffix)
  database.exec('ROLLBACK')
  database.close()
  const copies = folder.copiesBefore('2.0.0')
  const databases = databasesIn(data)
  await copyDatabases(data, databases, copies, folder.copying)
  const trial = open(data, 'plugins/notes/killed.sqlite')
  trial.exec('DELETE FROM rows')
  trial.close()
  await putBackDatabases(data, databases, copies)
  const restored = open(data, 'plugins/notes/killed.sqlite')
  t.same(
    restored
      .prepare('SELECT text FROM rows')
      .all()
      .map(({ text }) => text),
    before,
  )
  restored.close()
})

test('a supervisor keeps what a newer version has added to its files', async (t) => {
  const { releases, begin } = dataFolder(t)
  const stored = {
    format: 1,
    change: null,
    admission: {
      version: '1.0.0',
      former: '0.9.0',
      closedBy: null,
      color: 'red',
    },
    ranMs: hour,
    color: 'red',
  }
  const attempt = {
    from: '0.9.0',
    to: '1.0.0',
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:01:00.000Z',
    result: 'installed',
    reason: null,
    color: 'red',
  }
  writeFileSync(join(releases, 'state.json'), JSON.stringify(stored))
  writeFileSync(join(releases, 'history.json'), JSON.stringify([attempt]))
  const { state, changes } = begin()
  const change = changes.beginAt(join(releases, '2.0.0'))
  state.end(change, 'failed', 'A test wants it.')
  const read = (name: string) => JSON.parse(readFileSync(join(releases, name), 'utf8'))
  t.same(read('state.json'), stored)
  t.match(read('history.json'), [attempt, { to: '2.0.0', result: 'failed' }])
})

/** The contents of `state.json` that the release 0.1.0 has stored, during an update that failed, one that worked, and a way back. */
const recordedStates = readFileSync(new URL('./fixtures/recorded/exchange.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .flatMap(({ file, content }) => (file === 'state.json' ? [content] : []))

test('each step that a former release has stored is completed or undone, and is stored with the same fields', async (t) => {
  for (const recorded of recordedStates.filter(({ change }) => change !== null)) {
    const { releases, folder, begin } = dataFolder(t)
    const { step, to } = recorded.change
    mkdirSync(folder.folderOf('2.0.1'))
    writeFileSync(
      join(folder.folderOf('2.0.1'), 'release.json'),
      JSON.stringify({ version: '2.0.1', schema: [] }),
    )
    if (step === 'going back') folder.link('current', folder.folderOf('2.0.1'))
    // From the admission on, there is a link to the release before.
    if (step === 'going back' || step === 'admitting') folder.link('former', folder.folderOf('1.0.0'))
    const stored = JSON.stringify(recorded).replaceAll('/node/data/releases', releases)
    writeFileSync(join(releases, 'state.json'), stored)
    const { state, changes } = begin()
    const way = { ...JSON.parse(stored).change, fromPath: folder.inUse(), toPath: folder.folderOf('2.0.1') }
    const own = Object.keys(changeOf(step, way, null))
    for (const field of Object.keys(recorded.change)) t.ok(own.includes(field), `${step}: ${field}`)
    state.enter(JSON.parse(stored).change)
    t.match(JSON.parse(readFileSync(join(releases, 'state.json'), 'utf8')), JSON.parse(stored))
    await changes.recover()
    const isAdmitting = step === 'admitting'
    const result = step === 'going back' ? 'went back' : 'failed'
    t.match(readHistory(releases), isAdmitting ? [] : [{ to, result }], step)
    t.equal(readlinkSync(join(releases, 'current')), isAdmitting ? to : '1.0.0')
  }
})

test('a damaged file is named with what to do, and a damaged history is begun anew', async (t) => {
  const { releases, begin } = dataFolder(t)
  const file = join(releases, 'state.json')
  for (const damaged of ['', '{"format":1,']) {
    writeFileSync(file, damaged)
    t.throws(begin, { message: new RegExp(`${file} is damaged. Remove it, and start again`) })
  }
  rmSync(file)
  writeFileSync(join(releases, 'history.json'), '[{"from":')
  const { state, changes } = begin()
  state.end(changes.beginAt(join(releases, '2.0.0')), 'failed', 'A test wants it.')
  t.match(readHistory(releases), [{ to: '2.0.0', result: 'failed' }])
  t.equal(begin().state.change, null)
})

test('the way back is open, and the copies stay, while the supervisor runs for 72 hours, whatever the clock says', async (t) => {
  const { data, releases, folder, begin } = dataFolder(t)
  t.teardown(() => mock.timers.reset())
  const far = Date.parse('2099-01-01')
  for (const admittedAt of [0, Date.now(), far]) {
    const copies = folder.copiesBefore('2.0.0')
    await copyDatabases(data, databasesIn(data), copies, folder.copying)
    mock.timers.reset()
    mock.timers.enable({ apis: ['Date'], now: admittedAt })
    admit(folder, begin().state)
    const node = new SupervisedReleases({
      link: { releases, args: [], ask: async () => {} },
      configurationFiles: [],
    })
    /** Lets the supervisor, which was just started, run for some time. */
    const run = async (hours: number, now: number) => {
      mock.timers.reset()
      mock.timers.enable({ apis: ['Date'], now })
      const { changes } = begin()
      await changes.ran(hours * hour)
      const until = (await node.rollback())?.until.getTime() ?? null
      const kept = await node.databaseCopies()
      t.equal(kept[0]?.until.getTime() ?? null, until)
      t.equal(existsSync(copies), until !== null)
      t.equal(changes.rollback.whyNoRollback() === null, until !== null)
      return until === null ? null : until - now
    }
    const right = Date.parse('2026-11-23')
    t.equal(await run(0, right), 72 * hour)
    t.equal(await run(1, right + 96 * hour), 71 * hour)
    t.equal(await run(1, far), 70 * hour)
    t.equal(await run(1, 0), 69 * hour)
    t.equal(await run(69, right), 0)
    t.equal(await run(1, 0), null)
    t.equal(begin().changes.rollback.whyNoRollback(), 'The way back to version 1.0.0 was open for 72 hours.')
  }
})

test('a full disk holds up the count of the time only until it has space', async (t) => {
  const { releases, folder, begin } = dataFolder(t)
  const { state, changes } = begin()
  admit(folder, state)
  const letStore = keepFromStoring(releases)
  await changes.ran(72 * hour)
  t.equal(begin().changes.rollback.whyNoRollback(), null)
  letStore()
  await changes.ran(hour)
  t.not(begin().changes.rollback.whyNoRollback(), null)
})

for (const step of ['admitting', 'installed'] as const)
  test(`a way back that could not be stored, after the step ${step}, is ended by the next supervisor`, async (t) => {
    const { releases, folder, begin } = dataFolder(t)
    const { state, changes } = begin()
    admit(folder, state, step)
    const letStore = keepFromStoring(releases)
    await changes.served()
    const back = changes.begin({ nodekeep: 'go back', id: 1, reason: 'It is broken.' })
    t.equal(await changes.carryOut(null, back, optionsWith(true)), null)
    t.equal(readlinkSync(join(releases, 'current')), '1.0.0')
    letStore()
    for (const _ of [1, 2]) {
      const next = begin()
      await next.changes.recover()
      t.equal(readlinkSync(join(releases, 'current')), '1.0.0')
      t.match(next.state, { change: null, admission: null })
    }
    const backs = readHistory(releases).filter(({ result }) => result === 'went back')
    t.match(backs, [{ from: '2.0.0', to: '1.0.0', reason: /could not be stored/ }])
    t.equal(backs.length, 1)
  })

test('an end that could not be stored is in the history before the next change begins', (t) => {
  const { releases, folder, begin } = dataFolder(t)
  const { state, changes } = begin()
  admit(folder, state)
  const letStore = keepFromStoring(releases)
  t.equal(changes.rollback.go('It is broken.'), null)
  t.throws(() => changes.beginAt(join(releases, '2.0.0')))
  letStore()
  changes.beginAt(join(releases, '2.0.0'))
  t.match(readHistory(releases), [{}, { from: '2.0.0', result: 'went back', reason: 'It is broken.' }])
  t.end()
})

test('a release that was left does not run again, wherever the supervisor is killed', async (t) => {
  for (const stores of [true, false])
    for (const step of ['admitting', 'installed'] as const)
      for (let before = 1, isKilled = true; isKilled; before += 1) {
        const { releases, folder, begin } = dataFolder(t)
        const { state, changes } = begin()
        admit(folder, state, step)
        const letStore = stores ? () => {} : keepFromStoring(releases)
        isKilled = await killed(before, async () => void changes.rollback.go('It is broken.'))
        letStore()
        const place = `killed before change ${before} of the disk, ${step}, ${stores ? '' : 'not '}stored`
        const wasLeft = folder.inUse() === folder.folderOf('1.0.0')
        if (!isKilled) t.ok(wasLeft, place)
        for (const _ of [1, 2]) await begin().changes.recover()
        const backs = readHistory(releases).filter(({ result }) => result === 'went back')
        const isLeft = folder.inUse() === folder.folderOf('1.0.0')
        t.equal(backs.length, isLeft ? 1 : 0, place)
        if (wasLeft) t.ok(isLeft, place)
        if (isLeft) t.match(begin().state, { change: null, admission: null }, place)
      }
})

test('an update ends as the history says, wherever the supervisor is killed', async (t) => {
  for (const works of [true, false]) {
    const results = new Set<string | undefined>()
    for (let before = 1, isKilled = true; isKilled; before += 1) {
      const { releases, data, folder, begin } = dataFolder(t)
      const { changes } = begin()
      isKilled = await killed(before, async (isOver) => {
        await changes.carryOut(null, changes.beginAt(folder.folderOf('2.0.0')), optionsWith(works))
        if (!isOver()) await changes.served()
      })
      const next = begin()
      await next.changes.recover()
      await next.changes.served()
      const result = readHistory(releases).at(-1)?.result
      const place = `killed before change ${before} of the disk`
      t.equal(folder.inUse(), folder.folderOf(result === 'installed' ? '2.0.0' : '1.0.0'), place)
      t.equal(folder.target('former'), result === 'installed' ? folder.folderOf('1.0.0') : null, place)
      t.equal(begin().state.change, null, place)
      t.same(rows(data), ['before'], place)
      results.add(result)
    }
    t.same(results, new Set([undefined, 'failed', ...(works ? ['installed'] : [])]))
  }
})
