// In a process of its own: it replaces functions of node:fs.
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { definePlugin, type Restored, Restores } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import {
  applyPlannedRestore,
  isRestorePlanned,
  readLastRestore,
  restoresOf as restoresOfNode,
} from '../../src/backup/restores.ts'
import { createTestNode } from '../../src/testing/create-test-node.ts'

const restoresOf = (data: string) =>
  restoresOfNode(data, { version: '1.0.0', folders: async () => [], plugins: async () => [] })

const takenAt = new Date('2026-11-01T03:00:00Z')

/** Writes a data folder with old content, unpacked new content beside it, and a plan. */
async function planned(data: string): Promise<void> {
  write(data, {
    'state.sqlite': 'old',
    'state.sqlite-wal': 'old',
    'files/ada/a.txt': 'old',
    'plugins/notes/n': 'old',
  })
  write(data, {
    'unpacked/state.sqlite': 'new',
    'unpacked/files/ada/a.txt': 'new',
    'unpacked/extra/deep/x': 'new',
  })
  const move = (name: string, from: string | null = name) => ({
    from: from === null ? null : join(data, 'unpacked', from),
    to: join(data, name),
    previous: join(data, 'previous', name),
  })
  const moves = [move('state.sqlite'), move('files/ada'), move('extra/deep'), move('plugins/notes', null)]
  await restoresOf(data).plan({ backup: 'backup-20261101-030000.tar.gz', takenAt, moves })
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** All files below a folder with their contents, without the kernel's own records of restores. */
function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  const content = paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')] as const)
  return Object.fromEntries(content.filter(([path]) => !path.startsWith('restore/')).sort())
}

const restored = {
  'extra/deep/x': 'new',
  'files/ada/a.txt': 'new',
  'previous/files/ada/a.txt': 'old',
  'previous/plugins/notes/n': 'old',
  'previous/state.sqlite': 'old',
  'previous/state.sqlite-wal': 'old',
  'state.sqlite': 'new',
}

test('a planned restore is applied once, and what was there before is kept', async (t) => {
  const data = t.testdir()
  t.equal(applyPlannedRestore(data), null)
  await planned(data)
  t.ok(isRestorePlanned(data))
  const name = 'backup-20261101-030000.tar.gz'
  t.strictSame(await restoresOf(data).state(), { planned: name, applied: null })
  t.equal(applyPlannedRestore(data), name)
  t.strictSame(contentOf(data), restored)
  t.notOk(isRestorePlanned(data))
  t.strictSame(await restoresOf(data).state(), { planned: null, applied: name })
  t.equal(applyPlannedRestore(data), null)
})

/** Counts the changes of the disk that work makes. */
function stepsOf(work: () => void): number {
  let steps = 0
  stoppedBefore(Number.POSITIVE_INFINITY, work, () => steps++)
  return steps
}

/** Runs work that stops before one of its changes of the disk. Returns whether it came to its end. */
function stoppedBefore(step: number, work: () => void, onStep = () => {}): boolean {
  const { renameSync, rmSync, fsyncSync, writeFileSync, mkdirSync } = fs
  const originals = { renameSync, rmSync, fsyncSync, writeFileSync, mkdirSync }
  let steps = 0
  for (const [name, original] of Object.entries(originals)) {
    const counted = (...args: never[]) => {
      onStep()
      if (steps++ >= step) throw new Error('The power is gone.')
      return (original as (...args: never[]) => unknown)(...args)
    }
    Object.assign(fs, { [name]: counted })
  }
  syncBuiltinESMExports()
  try {
    work()
    return true
  } catch {
    return false
  } finally {
    Object.assign(fs, originals)
    syncBuiltinESMExports()
  }
}

test('a restore that stops before any of its steps ends in the same state', async (t) => {
  const folder = t.testdir()
  let steps = 0
  for (let finished = false; !finished; steps++) {
    const data = join(folder, String(steps))
    await planned(data)
    finished = stoppedBefore(steps, () => void applyPlannedRestore(data))
    const { planned: left, applied } = await restoresOf(data).state()
    t.ok((left === null) !== (applied === null), `it is either planned or applied before step ${steps}`)
    applyPlannedRestore(data)
    t.strictSame(contentOf(data), restored, `stopped before step ${steps}`)
  }
  t.ok(steps > 20)
})

const former = {
  'files/ada/a.txt': 'old',
  'plugins/notes/n': 'old',
  'state.sqlite': 'old',
  'state.sqlite-wal': 'old',
  'unpacked/extra/deep/x': 'new',
  'unpacked/files/ada/a.txt': 'new',
  'unpacked/state.sqlite': 'new',
}

test('a plan is taken back, also one that a start has begun to apply, at whatever step it stopped', async (t) => {
  const folder = t.testdir()
  let steps = 0
  for (; ; steps++) {
    const data = join(folder, String(steps))
    await planned(data)
    stoppedBefore(steps, () => void applyPlannedRestore(data))
    if (!isRestorePlanned(data)) break
    t.equal(await restoresOf(data).cancel(), 'backup-20261101-030000.tar.gz')
    t.strictSame(contentOf(data), former, `stopped before step ${steps}`)
    t.notOk(isRestorePlanned(data))
    t.equal(readLastRestore(data), null, 'no plugin learns of it')
    t.equal(applyPlannedRestore(data), null)
    t.equal(await restoresOf(data).cancel(), null)
  }
  t.ok(steps > 20)
})

test('a plan that was taken back only in part is applied by a start, or taken back whole', async (t) => {
  const folder = t.testdir()
  const counted = join(folder, 'counted')
  await planned(counted)
  const applySteps = stepsOf(() => void applyPlannedRestore(counted))
  let steps = 0
  for (let finished = false; !finished; steps++) {
    for (const goesOn of [false, true]) {
      const data = join(folder, `${steps}-${goesOn}`)
      await planned(data)
      // Everything is in its place, and the record is written. Only the plan is still there.
      stoppedBefore(applySteps - 2, () => void applyPlannedRestore(data))
      let taken: Promise<unknown> = Promise.resolve()
      stoppedBefore(steps, () => (taken = restoresOf(data).cancel()))
      finished = await taken.then(
        () => true,
        () => false,
      )
      const isApplied = goesOn && isRestorePlanned(data)
      if (goesOn) applyPlannedRestore(data)
      else await restoresOf(data).cancel()
      t.strictSame(contentOf(data), isApplied ? restored : former, `stopped before step ${steps}`)
      t.equal(readLastRestore(data) !== null, isApplied)
    }
  }
  t.ok(steps > 15)
})

test('a restore that cannot go on loses nothing and says why', async (t) => {
  const data = t.testdir()
  await planned(data)
  write(data, { 'previous/state.sqlite': 'in the way' })
  t.throws(() => applyPlannedRestore(data), /cannot be applied: there is something at .*state\.sqlite/)
  t.ok(isRestorePlanned(data))
  t.equal(readFileSync(join(data, 'state.sqlite'), 'utf8'), 'old')
})

test('a restore is neither applied nor taken back while another program has made again what was taken away', async (t) => {
  const data = t.testdir()
  await planned(data)
  const content = join(data, 'unpacked/state.sqlite')
  // A start is cut when everything is taken away.
  const { renameSync: original } = fs
  fs.renameSync = (from, to) => {
    if (from === content) throw new Error('The power is gone.')
    original(from, to)
  }
  syncBuiltinESMExports()
  t.throws(() => applyPlannedRestore(data), /The power is gone/)
  fs.renameSync = original
  syncBuiltinESMExports()
  write(data, { 'files/ada/b.txt': 'later' })
  const before = contentOf(data)
  t.equal(before['previous/files/ada/a.txt'], 'old')
  t.throws(() => applyPlannedRestore(data), /there is something at .*files\/ada and at/)
  await t.rejects(restoresOf(data).cancel(), {
    message:
      /cannot be taken back: .*files\/ada again, whose former content is at .* to another place\..* Nothing is lost/,
  })
  t.strictSame(contentOf(data), before)
  rmSync(join(data, 'files/ada'), { recursive: true })
  await restoresOf(data).cancel()
  t.strictSame(contentOf(data), former)
})

test('a damaged plan changes nothing, and its message says what to do', async (t) => {
  const data = t.testdir()
  await planned(data)
  const before = contentOf(data)
  writeFileSync(join(data, 'restore/plan.json'), '')
  const message =
    /damaged: .*plan\.json\. Delete this file, then restore the backup again.* stays there until/
  t.throws(() => applyPlannedRestore(data), { message })
  await t.rejects(restoresOf(data).cancel(), { message })
  await t.rejects(restoresOf(data).state(), { message })
  await t.rejects(restoresOf(data).plan({ backup: 'b', takenAt, moves: [] }), { message })
  t.strictSame(contentOf(data), before)
})

test('a damaged record of the last restore holds up no cancel, and a start says what to do', async (t) => {
  const data = t.testdir()
  await planned(data)
  const former = contentOf(data)
  const record = join(data, 'restore/applied.json')
  // The start stops at its last step.
  mkdirSync(join(record, 'x'), { recursive: true })
  t.throws(() => applyPlannedRestore(data), /take the restore back: nodekeep backup restore --cancel/)
  rmSync(record, { recursive: true })
  writeFileSync(record, '')
  t.strictSame(await restoresOf(data).state(), { planned: 'backup-20261101-030000.tar.gz', applied: null })
  t.equal(await restoresOf(data).cancel(), 'backup-20261101-030000.tar.gz')
  t.strictSame(contentOf(data), former)
  t.equal(readFileSync(record, 'utf8'), '', 'nothing is deleted')

  let dataFolder = ''
  for (const content of ['', '{}', '[]']) {
    dataFolder = t.testdir({ restore: { 'applied.json': content } })
    await t.rejects(
      createTestNode({ dataFolder }),
      /applied\.json\. If the node has run since that restore, move this file to another place/,
    )
  }
  renameSync(join(dataFolder, 'restore/applied.json'), join(dataFolder, 'applied.json'))
  const node = await createTestNode({ dataFolder })
  await node.stop()
})

test('a restore whose content has gone before the start changes nothing, and can be given up', async (t) => {
  const data = t.testdir()
  await planned(data)
  const before = contentOf(data)
  renameSync(join(data, 'unpacked/files/ada'), join(data, 'elsewhere'))
  t.throws(() => applyPlannedRestore(data), /unpacked\/files\/ada is missing, so nothing was changed/)
  renameSync(join(data, 'elsewhere'), join(data, 'unpacked/files/ada'))
  t.strictSame(contentOf(data), before)
  t.equal(applyPlannedRestore(data), 'backup-20261101-030000.tar.gz')
  t.strictSame(contentOf(data), restored)
})

test('a plan whose content has gone is taken back without a change', async (t) => {
  const data = t.testdir()
  await planned(data)
  rmSync(join(data, 'unpacked'), { recursive: true })
  const before = contentOf(data)
  t.equal(await restoresOf(data).cancel(), 'backup-20261101-030000.tar.gz')
  t.strictSame(contentOf(data), before)
  t.equal(applyPlannedRestore(data), null)
})

test('a restore that was interrupted is completed before another one is planned', async (t) => {
  const data = t.testdir()
  let steps = 0
  for (; existsSync(join(data, 'state.sqlite')) || steps === 0; steps += 1) {
    for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true })
    await planned(data)
    stoppedBefore(steps, () => void applyPlannedRestore(data))
  }
  const other = { from: null, to: join(data, 'other'), previous: join(data, 'kept') }
  await t.rejects(restoresOf(data).plan({ backup: 'other', takenAt, moves: [other] }), { code: 'CONFLICT' })
  applyPlannedRestore(data)
  t.strictSame(contentOf(data), restored)
})

test('a plan that could not be applied is refused', async (t) => {
  const data = t.testdir({ new: 'new', old: 'old', taken: 'x' })
  const plan = (from: string, previous: string) =>
    restoresOf(data).plan({
      backup: 'b',
      takenAt,
      moves: [{ from: join(data, from), to: join(data, 'old'), previous: join(data, previous) }],
    })
  await t.rejects(plan('missing', 'previous'), {
    code: 'VALIDATION_ERROR',
    message: /missing does not exist/,
  })
  await t.rejects(plan('new', 'taken'), { code: 'VALIDATION_ERROR', message: /taken exists already/ })
  if (existsSync('/proc/version')) {
    const moves = [{ from: join(data, 'new'), to: '/proc/version', previous: '/proc/previous' }]
    await t.rejects(restoresOf(data).plan({ backup: 'b', takenAt, moves }), {
      message: /another file system/,
    })
  }
  t.notOk(isRestorePlanned(data))
})

test('a plan whose moves would take along each other, or the plan itself, is refused', async (t) => {
  const data = t.testdir({ new: { inner: 'new' }, other: 'new', old: { inner: 'old' } })
  const move = (from: string | null, to: string, previous: string) => ({
    from: from === null ? null : join(data, from),
    to: join(data, to),
    previous: join(data, previous),
  })
  const plans: readonly (readonly [moves: ReturnType<typeof move>[], message: RegExp])[] = [
    [[move('new', 'old', 'kept/old'), move('other', 'old', 'kept/again')], /old is in the plan twice/],
    [
      [move('new', 'old', 'kept/old'), move('other', 'old/inner', 'kept/inner')],
      /old\/inner is .* within .*old\.$/,
    ],
    [[move('new', 'old', 'kept'), move(null, 'other', 'kept/other')], /kept\/other is .* within .*kept\.$/],
    [[move('new', 'old', 'old/previous')], /old\/previous is .* within/],
    [[move(null, '', '../previous')], /is .* within/],
    [[{ ...move('new', 'old', 'kept'), to: 'old' }], /old is not an absolute path/],
  ]
  for (const [moves, message] of plans) {
    await t.rejects(restoresOf(data).plan({ backup: 'b', takenAt, moves }), {
      code: 'VALIDATION_ERROR',
      message,
    })
  }
  t.notOk(isRestorePlanned(data))
})

test('the node applies a restore before it opens its database, and tells each plugin until it acknowledges', async (t) => {
  const dataFolder = t.testdir()
  const seen: (Restored | null)[] = []
  const watcher = definePlugin({
    id: 'watcher',
    requires: { restores: Restores },
    async setup({ restores, restored, nodeDataDir }) {
      seen.push(restored)
      if (seen.length === 1) {
        const from = join(nodeDataDir, 'unpacked.txt')
        writeFileSync(from, 'from the backup')
        const moves = [
          { from, to: join(nodeDataDir, 'file.txt'), previous: join(nodeDataDir, 'previous.txt') },
        ]
        await restores.plan({ backup: 'b', takenAt, moves })
      }
      if (seen.length === 3) await restored?.acknowledge()
    },
  })
  for (let start = 0; start < 4; start++) {
    const node = await createTestNode({ plugins: [watcher], dataFolder })
    await node.stop()
  }
  t.equal(readFileSync(join(dataFolder, 'file.txt'), 'utf8'), 'from the backup')
  t.match(seen, [null, { backup: 'b', takenAt }, { backup: 'b', takenAt }, null])
})
