import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { ChangeRecorder } from '../../src/changes/change-recorder.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { RunningChanges } from '../../src/journal/running-changes.ts'
import { lockOf } from '../../src/kept/kept-entries.ts'
import { Purge } from '../../src/kept/purge.ts'
import { Mounts } from '../../src/mounts/mounts.ts'
import { CrossMountMoves } from '../../src/operations/cross-mount-moves.ts'
import { remove } from '../../src/operations/removal.ts'
import { createScopes } from '../../src/operations/scope.ts'
import { write } from '../../src/operations/writing.ts'
import { PathLocks } from '../../src/paths/path-locks.ts'
import { userPath } from '../../src/paths/user-path.ts'
import { DiskReserve } from '../../src/quota/disk-reserve.ts'
import { Rooms } from '../../src/quota/rooms.ts'
import { createKeptNode } from '../fixtures/kept-node.ts'

const hourMs = 60 * 60 * 1000
const log = { info() {}, warn() {}, debug() {} }

/** The purge of a user's files in memory, with a clock that the test sets. */
async function purgedUser(t: Test) {
  const { services } = await createKeptNode(t, 'memory')
  const mounts = new Mounts({ '/': 'memory' }, services.backends, log)
  const journal = await openJournal(join(t.testdir(), 'journal.sqlite'), { mounts: mounts.toJSON() })
  t.teardown(() => journal.close())
  const recorder = new ChangeRecorder({
    journal,
    running: new RunningChanges(),
    wasApplied: async () => false,
    recordLeft: async () => null,
    resolveBefore: async () => {},
    settle: async () => {},
    announce() {},
    postpone() {},
  })
  const keeping = { trash: true, versions: true }
  const crossMountMoves = new CrossMountMoves()
  const rooms = new Rooms({
    journal,
    quotas: { of: () => null },
    reserve: new DiskReserve(0, t.testdir(), mounts),
    spareBytes: async () => 0,
    makeRoom: async () => {},
  })
  const parts = { mounts, journal, recorder, crossMountMoves, keeping, rooms, maxFileSize: 1e6 }
  const scopeOf = createScopes({ ...parts, locks: new PathLocks() })
  const clock = { ms: Date.now(), ran: 0, now: () => clock.ms, running: () => clock.ran }
  const values = new Map<string, unknown>()
  const disk = { isFull: false }
  const state = {
    get: async <T>(key: string) => values.get(key) as T | undefined,
    async set(key: string, value: unknown) {
      if (disk.isFull) throw new NodekeepError('INSUFFICIENT_STORAGE', 'The disk is full.')
      values.set(key, value)
    },
  }
  const { signal } = new AbortController()
  const days = { trash: 30, versions: 30 }
  const purge = new Purge({ journal, scopeOf, identify: async () => {}, state, log, signal }, days, clock)
  const userUuid = randomUUID()
  const scope = scopeOf(userUuid, {})
  return {
    userUuid,
    purge,
    disk,
    scope,
    pass(hours: number) {
      clock.ms += hours * hourMs
      clock.ran += hours * hourMs
    },
    jump(hours: number) {
      clock.ms += hours * hourMs
    },
    write: (path: string, bytes: number) =>
      write(scope, userPath(path), Readable.from([Buffer.alloc(bytes)])),
    remove: (path: string) => remove(scope, userPath(path)),
    kept: async () => (await journal.keptOf(userUuid)).oldest(userUuid, 0, 100).map(({ path }) => path),
  }
}

t.test('the oldest of what is kept gives way, and nothing younger than a day', async (t) => {
  const { userUuid, purge, pass, write, remove, kept } = await purgedUser(t)
  for (const path of ['/a', '/b', '/c']) {
    await write(path, 100)
    await write(path, 10)
  }
  await remove('/b')
  t.equal(await purge.makeRoom(userUuid, 50), 0)
  t.strictSame(await kept(), ['/a', '/b', '/c', '/b'])
  pass(25)
  t.equal(await purge.makeRoom(randomUUID(), 50), 0)
  t.equal(await purge.makeRoom(userUuid, 101), 200, 'whole contents go')
  t.strictSame(await kept(), ['/c', '/b'])
  t.equal(await purge.makeRoom(userUuid, 111), 0, 'nothing goes if all of it does not suffice')
  t.strictSame(await kept(), ['/c', '/b'])
  t.equal(await purge.makeRoom(userUuid, 110), 110)
  t.strictSame(await kept(), [])
})

t.test('what is being restored does not give way, and nobody waits for that', async (t) => {
  const { userUuid, purge, pass, scope, write, remove, kept } = await purgedUser(t)
  for (const path of ['/a', '/b']) {
    await write(path, 100)
    await remove(path)
  }
  pass(25)
  const [item] = (await scope.journal.keptOf(userUuid)).oldest(userUuid, 0, 1)
  const release = await scope.lock(item === undefined ? [] : [lockOf(item)])
  t.equal(await purge.makeRoom(userUuid, 100), 100)
  t.strictSame(await kept(), ['/a'])
  release()
  t.equal(await purge.makeRoom(userUuid, 100), 100)
})

t.test('a node that runs for some hours a week purges', async (t) => {
  const { purge, pass, jump, write, remove, kept } = await purgedUser(t)
  await write('/a', 100)
  await remove('/a')
  for (let week = 1; week <= 4; week += 1) {
    jump(7 * 24 - 2)
    await purge.run()
    pass(2)
    await purge.run()
    t.strictSame(await kept(), ['/a'])
  }
  jump(7 * 24)
  await purge.run()
  t.strictSame(await kept(), ['/a'], 'the clock may be wrong')
  pass(0.5)
  await purge.run()
  t.strictSame(await kept(), [])
})

t.test('a clock that jumps lets nothing give way before a day has passed', async (t) => {
  const { userUuid, purge, pass, jump, write, remove, kept } = await purgedUser(t)
  await write('/a', 100)
  await remove('/a')
  await purge.run()
  jump(365 * 24)
  await purge.run()
  t.equal(await purge.makeRoom(userUuid, 1), 0)
  pass(23)
  await purge.run()
  t.strictSame(await kept(), ['/a'])
  pass(1)
  await purge.run()
  t.strictSame(await kept(), [])
})

t.test('a disk that is too full to store the clock is purged all the same', async (t) => {
  const { purge, disk, pass, write, remove, kept } = await purgedUser(t)
  await write('/a', 100)
  await remove('/a')
  await purge.run()
  t.strictSame(await kept(), ['/a'], 'the index has it')
  disk.isFull = true
  for (let day = 0; day <= 30; day += 1) {
    pass(24)
    await purge.run()
  }
  t.strictSame(await kept(), [])
})
