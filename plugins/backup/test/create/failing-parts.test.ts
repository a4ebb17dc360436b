import { readdirSync, readlinkSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { BackupParticipant, BackupSnapshot, HaltedSnapshot } from '@nodekeep/plugin-sdk'
import t, { test } from 'tap'
import { BackupMaker } from '../../src/create/backup-maker.ts'
import { takeNodeSnapshot } from '../../src/create/node-snapshot.ts'
import { BackupFolder } from '../../src/stored/backup-folder.ts'
import {
  createBackupNode,
  fileEntry,
  makeBackup,
  participantPlugin,
  partOf,
  put,
} from '../fixtures/backup-node.ts'
import { borrow } from '../fixtures/borrow.ts'

t.jobs = 3

const never = new Promise<never>(() => {})

/** A part whose halt has some steps replaced. */
function haltedPart(
  replaced: Partial<HaltedSnapshot<BackupSnapshot>>,
  release = async () => {},
): BackupParticipant['prepare'] {
  const fix = async () => ({
    entries: async function* () {},
    omitted: async () => [],
    changed: [],
    release,
  })
  return async () => ({
    halt: async () => ({ fix, async [Symbol.asyncDispose]() {}, ...replaced }),
    release,
  })
}

/** Parts that fail, with what the message of the backup says. */
const failingParts: Record<string, [BackupParticipant['prepare'], RegExp]> = {
  'throws in prepare': [
    async () => {
      throw new Error('The tape is stuck')
    },
    /^The backup failed at the part "odd": The tape is stuck\.$/,
  ],
  'throws at once': [
    () => {
      throw new Error('No tape')
    },
    /the part "odd": No tape\.$/,
  ],
  'throws in halt': [
    async () => ({
      halt: async () => {
        throw new Error('The tape tore')
      },
      release: async () => {},
    }),
    /the part "odd": The tape tore\.$/,
  ],
  'throws in fix': [
    haltedPart({
      fix: async () => {
        throw new Error('The tape slipped')
      },
    }),
    /the part "odd": The tape slipped\.$/,
  ],
  'throws at the end of the halt': [
    haltedPart({
      async [Symbol.asyncDispose]() {
        throw new Error('The tape runs on')
      },
    }),
    /the part "odd": The tape runs on\.$/,
  ],
  'has the contract of an older SDK': [
    async () => ({ take: async () => {}, release: async () => {} }) as never,
    /the part "odd": its snapshot has no method "halt"\. Its plugin was written for an older version of the SDK: update/,
  ],
  'has a snapshot of an older SDK': [
    haltedPart({
      fix: async () =>
        ({ entries: async function* () {}, omitted: [], changed: [], release: async () => {} }) as never,
    }),
    /the part "odd": its snapshot has no method "omitted"\. Its plugin was written for an older version/,
  ],
  'yields fewer bytes': [
    partOf(async function* () {
      yield fileEntry('file', 'four', { size: 5 })
    }),
    /"odd\/file" has fewer than the 5 bytes that were expected/,
  ],
  'yields more bytes': [
    partOf(async function* () {
      yield fileEntry('file', 'four', { size: 3 })
    }),
    /"odd\/file" has more than the 3 bytes/,
  ],
  'yields a path that leads out': [
    partOf(async function* () {
      yield fileEntry('../../file', 'x')
    }),
    /leads out of the folder/,
  ],
  'yields a path twice': [
    partOf(async function* () {
      yield fileEntry('file', 'x')
      yield fileEntry('file', 'x')
    }),
    /an entry twice: "odd\/file"/,
  ],
}

test('a part that fails ends the backup and the view with its name, and the node goes on', async (t) => {
  let prepare: BackupParticipant['prepare'] = () => never
  const plugins = [participantPlugin('odd', (signal) => prepare(signal))]
  const node = await createBackupNode({ plugins })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  for (const [what, [failing, message]] of Object.entries(failingParts)) {
    prepare = failing
    await put(owner, '/a', 'before')
    await t.rejects(makeBackup(owner), /"error":true/, what)
    await put(owner, '/a', 'after')
    t.equal(await (await owner.fetch('/read?path=/a')).text(), 'after', 'changes go on')
    const status = (await (await owner.fetch('/api/backup/status')).json()) as {
      running: unknown
      last: { filename: unknown; problem: string }
    }
    t.match(status, { running: null, last: { filename: null } }, what)
    t.match(status.last.problem, message, what)
    await t.rejects(borrow(owner), { message }, what)
    t.strictSame(readdirSync(`${node.dataFolder}/backups`), [], 'nothing is left')
    t.strictSame(openIn(`${node.dataFolder}/backups`), [])
    t.match(await (await node.fetch('/health')).json(), { status: 'degraded' })
  }
})

/** The files and folders below a folder that this process has open. */
function openIn(folder: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return []
    }
  })
}

test('a part that fails to list or to open its files is named in the log', async (t) => {
  const lines: string[] = []
  const prepare = partOf(async function* () {
    yield fileEntry('file', 'x', {
      open: () =>
        new Readable({
          read() {
            this.destroy(new Error('The tape ended'))
          },
        }),
    })
  })
  const plugins = [participantPlugin('odd', prepare)]
  const node = await createBackupNode({ plugins, onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  await t.rejects(makeBackup(owner))
  t.match(lines.join('\n'), /The tape ended/)
})

/** Parts that hang, with what the message says. `limits` are short. */
const hanging: Record<string, [BackupParticipant['prepare'], RegExp]> = {
  prepare: [() => never, /the part "odd": it took longer than 0\.2 s/],
  halt: [
    async () => ({ halt: () => never, release: async () => {} }),
    /the part "odd": it took longer than 0\.3 s/,
  ],
  fix: [haltedPart({ fix: () => never }), /the part "odd": it took longer than 0\.3 s/],
  'the end of the halt': [
    haltedPart({ [Symbol.asyncDispose]: () => never }),
    /the part "odd": it took longer than 0\.3 s/,
  ],
  entries: [
    partOf(async function* () {
      yield fileEntry('first', 'x')
      await never
    }),
    /no entry followed "odd\/first" for 0\.1 s/,
  ],
  'the content': [
    partOf(async function* () {
      yield fileEntry('file', '', { size: 5, open: () => new Readable({ read() {} }) })
    }),
    /no more bytes of "odd\/file" came for 0\.1 s/,
  ],
}

// Alone, since its limits are short.
test('a part that hangs ends the backup, and nothing stands still', { buffered: false }, async (t) => {
  for (const [where, [prepare, message]] of Object.entries(hanging)) {
    let [halted, released] = [0, 0]
    const release = async () => {
      released += 1
    }
    const goOn = async () => {
      halted -= 1
    }
    const calm: BackupParticipant = {
      async prepare(signal) {
        const prepared = await haltedPart({ [Symbol.asyncDispose]: goOn }, release)(signal)
        return {
          ...prepared,
          halt() {
            halted += 1
            return prepared.halt()
          },
        }
      },
    }
    const folder = new BackupFolder(t.testdir())
    // The part that was added first comes to a halt last.
    for (const order of [
      ['odd', 'calm'],
      ['calm', 'odd'],
    ]) {
      const parts = new Map(order.map((name) => [name, name === 'odd' ? { prepare } : calm]))
      const maker = new BackupMaker({
        participants: parts as never,
        folder,
        info: { version: '1.2.3', plugins: () => [], startedAt: new Date() } as never,
        restores: { folders: async () => [] },
        backends: { ownerOf: () => undefined },
        recipients: [],
        include: [],
        log: { info() {} } as never,
        limits: { prepareMs: 200, takeMs: 300, stallMs: 100 },
      })
      released = 0
      await t.rejects(maker.make(new AbortController().signal), { code: 'INTERNAL_ERROR', message }, where)
      t.equal(maker.progress, null)
      t.equal(halted, 0, `${where}: the other part goes on`)
      t.ok(released > 0, `${where}: the other part is released`)
      t.strictSame(readdirSync(folder.path), [], 'nothing is left')
    }
  }
})

/** A part that notes its calls. */
function notedPart(
  calls: string[],
  name: string,
  waits: { readonly halt?: () => Promise<void>; readonly goOn?: () => Promise<void> } = {},
): readonly [string, BackupParticipant] {
  const prepare = async () => ({
    async halt() {
      await waits.halt?.()
      calls.push(`${name} stands still`)
      return {
        async fix(): Promise<BackupSnapshot> {
          return { async *entries() {}, omitted: async () => [], changed: [], async release() {} }
        },
        async [Symbol.asyncDispose]() {
          await waits.goOn?.()
          calls.push(`${name} goes on`)
        },
      }
    },
    async release() {
      calls.push(`${name} is released`)
    },
  })
  return [name, { prepare }]
}

test('a backup that fails at a halt waits until all others go on, and then releases the parts', async (t) => {
  const calls: string[] = []
  const late = Promise.withResolvers<void>()
  const overLimit = Promise.withResolvers<void>()
  const parts = [
    notedPart(calls, 'stuck', { halt: () => late.promise, goOn: async () => overLimit.resolve() }),
    notedPart(calls, 'slow', { goOn: () => new Promise((resolve) => setTimeout(resolve, 20)) }),
  ]
  const limits = { prepareMs: 10_000, takeMs: 200 }
  await t.rejects(takeNodeSnapshot(parts, new AbortController().signal, limits), {
    message: /"stuck": it took/,
  })
  t.strictSame(calls, ['slow stands still', 'slow goes on', 'slow is released', 'stuck is released'])
  late.resolve()
  await overLimit.promise
  t.equal(calls.at(-1), 'stuck stands still', 'a late halt is disposed at once')
})

test('a backup that is canceled releases a part only when its halt has ended', async (t) => {
  const calls: string[] = []
  const abort = new AbortController()
  const parts = [
    notedPart(calls, 'never halted'),
    notedPart(calls, 'one', {
      async halt() {
        abort.abort(new Error('The node stops'))
        await new Promise(setImmediate)
      },
    }),
  ]
  const limits = { prepareMs: 10_000, takeMs: 10_000 }
  await t.rejects(takeNodeSnapshot(parts, abort.signal, limits), { message: 'The node stops' })
  t.strictSame(calls, ['one stands still', 'one goes on', 'one is released', 'never halted is released'])
})

/** Resolves when it was called. */
function reached(): { readonly promise: Promise<void>; readonly hang: () => Promise<never> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    promise,
    hang: () => {
      resolve()
      return never
    },
  }
}

type Hang = () => Promise<never>

/** Parts that hang where no change has to wait for them. */
const hangingBeside: Record<string, (hang: Hang) => BackupParticipant['prepare']> = {
  prepare: (hang) => hang,
  entries: (hang) =>
    partOf(async function* () {
      yield fileEntry('first', 'x')
      await hang()
    }),
  'the content': (hang) =>
    partOf(async function* () {
      yield fileEntry('file', '', { size: 5, open: () => new Readable({ read: () => void hang() }) })
    }),
}

test('a node goes on beside a part that hangs, and stops at once', async (t) => {
  for (const [where, prepareWith] of Object.entries(hangingBeside)) {
    const { promise, hang } = reached()
    const node = await createBackupNode({ plugins: [participantPlugin('odd', prepareWith(hang))] })
    t.teardown(() => node.stop())
    const owner = await node.signIn('owner')
    const answer = owner.fetch('/api/backup/create', { method: 'POST' })
    await promise
    await put(owner, '/a', 'beside')
    t.equal(await (await owner.fetch('/read?path=/a')).text(), 'beside', `${where}: changes go on`)
    t.equal((await owner.fetch('/api/backup/create', { method: 'POST' })).status, 409)
    const { dataFolder } = node
    const before = readdirSync(`${dataFolder}/files/.nodekeep`).length
    t.ok(before > 0, 'the snapshot is held')
    await node.stop()
    t.equal((await answer).status, 503, `${where}: the backup ends with the node`)
  }
})

test('a part that does not halt fails the backup of a node after ten seconds', async (t) => {
  const { promise, hang } = reached()
  const prepare = async () => ({ halt: hang, release: async () => {} })
  const node = await createBackupNode({ plugins: [participantPlugin('odd', prepare)] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const answer = owner.fetch('/api/backup/create', { method: 'POST' })
  await promise
  await put(owner, '/a', 'beside')
  t.equal((await answer).status, 500)
  const { last } = (await (await owner.fetch('/api/backup/status')).json()) as { last: { problem: string } }
  t.equal(last.problem, 'The backup failed at the part "odd": it took longer than 10 s.')
  await put(owner, '/a', 'after')
  t.strictSame(readdirSync(`${node.dataFolder}/backups`), [], 'nothing is left')
})
