import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import {
  type BackupParticipant,
  BackupParticipants,
  definePlugin,
  type StateStore,
} from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { type DatabaseSnapshot, DatabaseSnapshots } from '../../src/state/database-snapshots.ts'
import { createTestNode, takeSnapshot } from '../../src/testing/index.ts'

/** A plugin with a database of its own, in which a thread of its own writes without a pause. */
function counter(onSetup: (thread: Worker, state: StateStore) => void) {
  return definePlugin({
    id: 'counter',
    setup({ sqliteFile, state, onStop }) {
      const thread = new Worker(new URL('fixtures/counting-thread.ts', import.meta.url), {
        workerData: sqliteFile('counts'),
      })
      onStop(async () => {
        thread.postMessage('stop')
        await once(thread, 'exit')
      })
      sqliteFile('cache', { inBackups: false })
      onSetup(thread, state)
    },
  })
}

function take(snapshots: DatabaseSnapshots): DatabaseSnapshot {
  const snapshot = snapshots.prepare()
  snapshot.pin()
  return snapshot
}

function read(file: string, statement: string): unknown {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    return Object.values(connection.prepare(statement).get() ?? {})[0]
  } finally {
    connection.close()
  }
}

const countOf = async (thread: Worker): Promise<number> => {
  thread.postMessage('count')
  return (await once(thread, 'message'))[0]
}

test('copies show the moment of the snapshot, while plugins write', async (t) => {
  const { promise: writing, resolve: counts } = Promise.withResolvers<[Worker, StateStore]>()
  const node = await createTestNode({ plugins: [counter((...parts) => counts(parts))] })
  t.teardown(() => node.stop())
  const [thread, state] = await writing
  const databases = new DatabaseSnapshots(node.dataFolder)
  let stored = 0
  let running = true
  const storing = (async () => {
    for (; running; stored += 1) {
      await state.set(`entry ${stored}`, 'y'.repeat(300))
      await setImmediate()
    }
  })()
  while (stored < 100 || (await countOf(thread)) < 500) await setImmediate()

  const before = await countOf(thread)
  const snapshot = databases.prepare()
  const storedAtMoment = stored
  snapshot.pin()
  const after = await countOf(thread)
  while (stored < storedAtMoment + 20 || (await countOf(thread)) < after + 200) {
    await setImmediate()
  }
  t.same(snapshot.paths, ['state.sqlite', 'plugins/counter/counts.sqlite'], 'not those outside of backups')
  const folder = t.testdir()
  const [stateCopy, countsCopy] = [join(folder, 'state'), join(folder, 'counts')]
  await Promise.all([
    snapshot.copyTo('state.sqlite', stateCopy),
    snapshot.copyTo('plugins/counter/counts.sqlite', countsCopy),
  ])
  t.ok((await countOf(thread)) > after, 'the plugin wrote during the copies')
  await snapshot.release()
  running = false
  await storing

  const entries = Number(read(stateCopy, "SELECT count(*) FROM state WHERE namespace = 'counter'"))
  t.ok(
    [storedAtMoment, storedAtMoment + 1].includes(entries),
    `${entries} entries, ${storedAtMoment} at the moment`,
  )
  const counted = Number(read(countsCopy, 'SELECT max(n) FROM a'))
  t.ok(counted >= before && counted <= after, `${before} ≤ ${counted} ≤ ${after}`)
  t.equal(read(countsCopy, 'SELECT count(*) FROM a'), counted, 'no gap')
  t.equal(read(countsCopy, 'SELECT max(n) FROM b'), counted, 'whole transactions only')
  for (const file of [stateCopy, countsCopy]) {
    t.equal(read(file, 'PRAGMA integrity_check'), 'ok')
    t.equal(statSync(file).mode & 0o777, 0o600)
  }
  t.same(readdirSync(folder).sort(), ['counts', 'state'], 'no logs beside the copies')
})

/** A data folder with a database of the kernel that has some megabytes. */
function dataFolder(t: Test) {
  const folder = t.testdir()
  const database = new DatabaseSync(join(folder, 'state.sqlite'))
  t.teardown(() => database.isOpen && database.close())
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (n INTEGER, b BLOB)')
  const insert = database.prepare('INSERT INTO t VALUES (?, zeroblob(100000))')
  const write = (from: number, to: number) => {
    for (let n = from; n < to; n++) insert.run(n)
  }
  write(0, 100)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  return { folder, database, write, copy: join(folder, 'copy.sqlite') }
}

test('the copy is exactly the state of the moment', async (t) => {
  const { folder, database, write, copy } = dataFolder(t)
  const snapshot = take(new DatabaseSnapshots(folder))
  const content = (file: string) =>
    read(file, "SELECT group_concat(n, ',') FROM (SELECT n FROM t ORDER BY n)")
  const before = content(join(folder, 'state.sqlite'))
  database.exec('DELETE FROM t WHERE n < 50; CREATE TABLE later (x)')
  write(100, 130)
  const copying = snapshot.copyTo('state.sqlite', copy)
  const writing = setInterval(() => write(200, 203), 0)
  await copying
  clearInterval(writing)
  await snapshot.release()
  t.equal(content(copy), before)
  t.equal(read(copy, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"), 0)
})

test('a copy of a snapshot that is released leaves no file', async (t) => {
  const { folder, copy } = dataFolder(t)
  const snapshot = take(new DatabaseSnapshots(folder))
  const isReleased = { code: 'SERVICE_UNAVAILABLE', message: /is released/ }
  const copying = t.rejects(snapshot.copyTo('state.sqlite', copy), isReleased)
  await snapshot.release()
  await copying
  t.notOk(existsSync(copy))
  await t.rejects(snapshot.copyTo('state.sqlite', copy), isReleased)
})

test('a snapshot is given up when too much is written meanwhile', async (t) => {
  const { folder, database, write, copy } = dataFolder(t)
  const snapshots = new DatabaseSnapshots(folder, { walGrowth: 2 * 1024 * 1024, checkEveryMs: 5 })
  const reason = {
    code: 'SERVICE_UNAVAILABLE',
    message:
      'The copy of state.sqlite was given up: more than 2 MiB were written to the database meanwhile. Try again when less is written.',
  }

  // A held snapshot keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const held = take(snapshots)
  const givenUp = once(held.signal, 'abort')
  write(100, 130)
  await givenUp
  t.match(held.signal.reason, reason, 'without a copy')

  const copied = take(snapshots)
  const copying = copied.copyTo('state.sqlite', copy)
  write(200, 230)
  await t.rejects(copying, reason, 'during a copy')
  t.notOk(existsSync(copy))

  await copied.release()
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {}
  t.equal(busy, 0, 'nothing keeps the log from being emptied')
  const again = take(snapshots)
  await again.copyTo('state.sqlite', copy)
  await again.release()
})

test('a node that stops gives its snapshots up', async (t) => {
  let state: BackupParticipant | undefined
  const keeper = definePlugin({
    id: 'keeper',
    requires: { participants: BackupParticipants },
    setup({ participants }) {
      state = participants.get('state')
    },
  })
  const node = await createTestNode({ plugins: [keeper] })
  const signal = new AbortController().signal
  const snapshot = await takeSnapshot(await state?.prepare(signal))
  await node.stop()
  const stopping = { code: 'SERVICE_UNAVAILABLE', message: 'The node is stopping.' }
  await t.rejects(async () => void (await Array.fromAsync(snapshot.entries())), stopping)
  await t.rejects(async () => state?.prepare(signal), stopping)
})

test('the database of a plugin that is not loaded is copied, with what a crash left in its log', async (t) => {
  const { folder, copy } = dataFolder(t)
  mkdirSync(join(folder, 'plugins', 'absent'), { recursive: true })
  const file = join(folder, 'plugins', 'absent', 'notes.sqlite')
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(${JSON.stringify(file)})
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text); INSERT INTO notes VALUES ('kept')")
    process.kill(process.pid, 'SIGKILL')`
  t.throws(() => execFileSync(process.execPath, ['-e', script]))
  t.ok(statSync(`${file}-wal`).size > 0)
  const snapshot = take(new DatabaseSnapshots(folder))
  await snapshot.copyTo('plugins/absent/notes.sqlite', copy)
  await snapshot.release()
  t.equal(read(copy, 'SELECT text FROM notes'), 'kept')
})

test('a database that cannot be read is named', async (t) => {
  const { folder } = dataFolder(t)
  const snapshots = new DatabaseSnapshots(folder)
  mkdirSync(join(folder, 'plugins', 'acme'), { recursive: true })
  const file = join(folder, 'plugins', 'acme', 'index.sqlite')
  writeFileSync(file, 'This is no database. '.repeat(400))
  const failure = {
    code: 'SERVICE_UNAVAILABLE',
    message: /^The database plugins\/acme\/index\.sqlite cannot be read/,
  }
  t.throws(() => snapshots.prepare(), failure)
  rmSync(file)
  const owner = new DatabaseSync(file)
  owner.exec('CREATE TABLE t (x); BEGIN EXCLUSIVE')
  t.throws(() => snapshots.prepare(), failure)
  owner.exec('ROLLBACK')
  owner.close()
  await take(snapshots).release()
})

test('a full disk fails the copy only, and leaves nothing', async (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'nodekeep-full-'))
  t.teardown(() => rmSync(disk, { recursive: true, force: true }))
  const mount = 'mount -t tmpfs -o size=600k tmpfs "$1"'
  const script = join(import.meta.dirname, 'fixtures', 'full-disk-copy.ts')
  const apart = (command: string) =>
    promisify(execFile)('unshare', [
      ...['--map-root-user', '--mount', 'sh', '-c', command, 'sh'],
      ...[disk, process.execPath, script],
    ])
  const possible = await apart(mount).then(
    () => true,
    () => false,
  )
  if (!possible) return t.comment('Nothing can be mounted here, so that no disk can be filled.')
  const { stdout } = await apart(`${mount} && exec "$2" --conditions=nodekeep-source "$3" "$1"`)
  t.same(JSON.parse(stdout), {
    code: 'INSUFFICIENT_STORAGE',
    message: 'The disk is full: copy.sqlite cannot be written. Free some space and try again.',
    left: [],
  })
})

test('the name of a database is a word', async (t) => {
  const names: Record<string, string> = {}
  const plugin = definePlugin({
    id: 'named',
    setup({ sqliteFile, dataDir }) {
      for (const name of ['', '.', '../up', 'A', 'a.b', 'a/b', `a${'b'.repeat(100)}`]) {
        t.throws(
          () => sqliteFile(name),
          { name: 'TypeError', message: /cannot name a database/ },
          `"${name}"`,
        )
      }
      names[sqliteFile('index-2')] = join(dataDir, 'index-2.sqlite')
      names[sqliteFile('index-2', { inBackups: false })] = join(dataDir, 'not-in-backups', 'index-2.sqlite')
    },
  })
  const node = await createTestNode({ plugins: [plugin] })
  for (const [given, expected] of Object.entries(names)) {
    t.equal(given, expected)
    t.equal(statSync(given).mode & 0o777, 0o600)
  }
  t.equal(Object.keys(names).length, 2)
  await node.stop()
})
