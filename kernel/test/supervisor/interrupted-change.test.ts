import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { mock } from 'node:test'
import { type Test, test } from 'tap'
import { copyDatabases, databasesIn, putBackDatabases } from '../../src/supervisor/database-copies.ts'
import { ReleaseChanges } from '../../src/supervisor/release-changes.ts'
import { ReleaseFolder } from '../../src/supervisor/release-folder.ts'
import { type Change, readHistory, SupervisorState } from '../../src/supervisor/supervisor-state.ts'

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
    return { state, changes: new ReleaseChanges({ folder, state, log: quiet, data, trialMs: 1000 }) }
  }
  return { data, releases, folder, begin }
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
    if (isBack) folder.link('former', join(releases, to))
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

test('copies of databases stay for 72 hours, also when the clock is wrong for a moment', async (t) => {
  const { data, folder, begin } = dataFolder(t)
  const copies = folder.copiesBefore('2.0.0')
  await copyDatabases(data, databasesIn(data), copies, folder.copying)
  const { changes } = begin()
  t.teardown(() => mock.timers.reset())
  /** Lets an hour of the supervisor end while the clock has a time. */
  const hourAt = async (now: number) => {
    mock.timers.enable({ apis: ['Date'], now })
    await changes.everyHour()
    mock.timers.reset()
    return existsSync(copies)
  }
  const madeAt = Date.now()
  const far = Date.parse('2099-01-01')
  for (const now of [far, madeAt, 0, far, madeAt + 71 * hour, madeAt + 73 * hour])
    t.equal(await hourAt(now), true)
  t.equal(await hourAt(madeAt + 74 * hour), false)
})

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
      at: new Date().toISOString(),
      closedBy: null,
      color: 'red',
    },
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

test('the way back is open for 72 hours, also when the clock was ahead, or starts in 1970', async (t) => {
  const { releases, folder, begin } = dataFolder(t)
  folder.link('former', join(releases, '1.0.0'))
  folder.link('current', join(releases, '2.0.0'))
  for (const [hours, closed] of [
    [71, null],
    [73, 'The way back to version 1.0.0 was open for 72 hours.'],
    [-2, null],
  ] as const) {
    const at = new Date(Date.now() - hours * hour).toISOString()
    const admission = { version: '2.0.0', former: '1.0.0', at, closedBy: null }
    writeFileSync(join(releases, 'state.json'), JSON.stringify({ format: 1, change: null, admission }))
    t.equal(begin().changes.wayBack.closed(), closed, `${hours} hours`)
  }
  t.teardown(() => mock.timers.reset())
  mock.timers.enable({ apis: ['Date'], now: Date.parse('2099-01-01') })
  t.not(begin().changes.wayBack.closed(), null)
  for (const now of [0, Date.parse('2026-11-23')]) {
    mock.timers.setTime(now)
    t.equal(begin().changes.wayBack.closed(), null, 'it is open again after a moment of a wrong clock')
  }
})
