import { existsSync, readdirSync } from 'node:fs'
import { appendFile, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { NodeTrials } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { Drills, type DrillVerdict, sentenceOf } from '../../src/drill/drills.ts'
import { makeBackup, put } from '../fixtures/backup-node.ts'
import { type Services, servicesOfNode } from './fixtures/probe/index.ts'
import { rewriteArchive } from './fixtures/rewrite-archive.ts'

interface Status {
  readonly drill: DrillVerdict | null
  readonly isDrilling: boolean
  readonly rehearsed: string | null
}

const quiet = { info() {}, warn() {}, error() {} }

/** A node with two storages, three users and odd names. */
async function drilledNode(
  t: Test,
  backup: Readonly<Record<string, unknown>> = {},
  mounts: Readonly<Record<string, string>> = {},
) {
  const node = await createTestNode({
    folder: import.meta.dirname,
    config: {
      storage: { mounts: { '/': 'local', '/disk/second': 'disk2', ...mounts } },
      disk2: { root: join(t.testdir({}), 'disk2') },
      backup: { drill: false, ...backup },
      plugins: {
        files: true,
        'storage-local': true,
        disk2: { from: 'storage-local' },
        'storage-memory': true,
        backup: true,
        probe: { from: './fixtures/probe' },
      },
    },
  })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(owner, '/a.txt', 'of the owner')
  await ada.fetch(`/write?path=${encodeURIComponent('/notes/a ü\u2028%20\u0085.txt')}`, {
    method: 'PUT',
    body: 'of Ada',
    headers: { 'x-oc-mtime': '1700000000' },
  })
  await put(ada, '/disk/second/b.txt', 'on another disk')
  await put(ada, '/empty', '')
  await owner.fetch('/mkdir', {
    method: 'POST',
    body: '{"path":"/folder/inner"}',
    headers: { 'content-type': 'application/json' },
  })
  return { node, owner, ada, bob, services: servicesOfNode() }
}

async function statusOf(owner: TestUser): Promise<Status> {
  return (await (await owner.fetch('/api/backup/status')).json()) as Status
}

/** Waits for the end of the drill that runs. */
async function drillOf(owner: TestUser): Promise<DrillVerdict | null> {
  for (;;) {
    const status = await statusOf(owner)
    if (!status.isDrilling) return status.drill
    await pause(50)
  }
}

async function healthOf(owner: TestUser): Promise<unknown> {
  const answer = await owner.fetch('/api/system/health')
  return ((await answer.json()) as { checks: { backup: unknown } }).checks.backup
}

function leftOf({ dataFolder }: TestNode): string[] {
  return readdirSync(dataFolder).filter((name) => name === 'drill')
}

/** Tries out a backup of a node in this test, and returns the verdict. */
async function verdictOn(
  t: Test,
  { node, services }: { node: TestNode; services: Services },
  filename: string,
  more: { maxBytes?: number; bytes?: number } = {},
): Promise<DrillVerdict | null> {
  const { bytes = 0, ...parts } = more
  const folder = join(node.dataFolder, 'drill')
  const drills = new Drills({ ...services, folder, dataDir: t.testdir(), log: quiet, ...parts })
  drills.begin({ file: join(node.dataFolder, 'backups', filename), bytes, identities: [] })
  while (drills.isRunning) await pause(20)
  t.strictSame(leftOf(node), [], 'nothing is left behind')
  return drills.last
}

test('a node that was started on a good backup has everything', async (t) => {
  const { node, owner } = await drilledNode(t, { drill: true })
  const { filename } = await makeBackup(owner)
  const verdict = await drillOf(owner)
  t.match(verdict, { filename, result: 'passed', problem: null, seconds: Number })
  t.strictSame(await healthOf(owner), { ok: true, state: 'available' })
  t.strictSame(leftOf(node), [])
})

test('files of a storage without plain files are not compared', async (t) => {
  const { ada, owner } = await drilledNode(t, { drill: true }, { '/memory': 'memory' })
  await put(ada, '/memory/c.txt', 'not on a disk')
  await makeBackup(owner)
  t.match(await drillOf(owner), { result: 'passed', problem: null })
})

test('an encrypted backup is tried out with a key that is stored nowhere', async (t) => {
  const { recipient } = await generateKey()
  const { node, owner } = await drilledNode(t, { drill: true, recipients: [recipient] })
  await makeBackup(owner)
  t.match(await drillOf(owner), { result: 'passed', problem: null })
  t.strictSame(await healthOf(owner), { ok: true, state: 'unrehearsed' })
  const stored = await readFile(join(node.dataFolder, 'plugins', 'backup', 'drill.json'), 'utf8')
  t.notMatch(stored, /AGE-SECRET/)
})

test('a backup that differs from what it says fails its drill, with the reason', async (t) => {
  const made = await drilledNode(t)
  const { ada } = made
  const { filename } = await makeBackup(made.owner)
  const file = join(made.node.dataFolder, 'backups', filename)
  const wrong = async (name: string, change: (folder: string) => Promise<void>) => {
    await rewriteArchive(t, file, join(made.node.dataFolder, 'backups', name), change)
    return verdictOn(t, made, name)
  }

  t.match(await wrong('backup-20260101-000000.tar.gz', async () => {}), { result: 'passed' })

  const other = await wrong('backup-20260101-000001.tar.gz', async (folder) => {
    using state = new DatabaseSync(join(folder, 'state', 'state.sqlite'))
    state.prepare('UPDATE users SET username = ? WHERE uuid = ?').run('eve', ada.user.uuid)
  })
  t.match(other, { result: 'failed', problem: /has another username/ })

  const broken = await wrong('backup-20260101-000002.tar.gz', async (folder) => {
    await writeFile(join(folder, 'state', 'state.sqlite'), 'no database at all')
  })
  t.match(broken, { result: 'failed', problem: String })

  const noUser = await wrong('backup-20260101-000003.tar.gz', async (folder) => {
    const users = join(folder, 'state', 'users.json')
    const listed = JSON.parse(await readFile(users, 'utf8')) as Record<string, unknown>
    delete listed[ada.user.uuid]
    await writeFile(users, JSON.stringify(listed))
  })
  t.match(noUser, { result: 'failed', problem: /whom the backup does not list/ })
})

test('a restored node whose files differ fails the drill, with the first difference', async (t) => {
  const made = await drilledNode(t)
  const { filename } = await makeBackup(made.owner)
  /** Changes the files of the second node when it has started. */
  const changedBy = (change: (home: string) => Promise<void>) => {
    const trials: NodeTrials = {
      async start(options) {
        const trial = await made.services.trials.start(options)
        const root = options.folders?.find(({ plugin }) => plugin === 'storage-local')?.path ?? ''
        await change(join(root, made.ada.user.uuid))
        return trial
      },
    }
    return verdictOn(t, { node: made.node, services: { ...made.services, trials } }, filename)
  }
  for (const [what, problem, change] of [
    [
      'content',
      /"\/notes\/[^"]+" has another content/,
      async (home: string) => {
        const file = join(home, 'notes', 'a ü\u2028%20\u0085.txt')
        await writeFile(file, 'of Eve')
        await utimes(file, 1700000000, 1700000000)
      },
    ],
    [
      'time',
      /"\/empty" has another time of modification/,
      (home: string) => utimes(join(home, 'empty'), 1, 1),
    ],
    ['missing', /the file "\/empty" is missing/, (home: string) => rm(join(home, 'empty'))],
    ['added', /the backup has no file "\/more"/, (home: string) => writeFile(join(home, 'more'), '')],
    [
      'size',
      /the backup has no file "\/empty" of this size/,
      (home: string) => writeFile(join(home, 'empty'), 'x'),
    ],
  ] as const) {
    t.match(await changedBy(change), { result: 'failed', problem }, what)
  }
})

test('a damaged archive fails its drill', async (t) => {
  const made = await drilledNode(t)
  const { filename } = await makeBackup(made.owner)
  await appendFile(join(made.node.dataFolder, 'backups', filename), 'and more')
  t.match(await verdictOn(t, made, filename), { filename, result: 'failed', problem: String })
})

test('without room on the disk, a drill is skipped, and says so', async (t) => {
  const made = await drilledNode(t)
  const { filename } = await makeBackup(made.owner)
  const verdict = await verdictOn(t, made, filename, { bytes: 2 ** 60, maxBytes: 2 ** 61 })
  t.match(verdict, { result: 'skipped', problem: /too little space for the drill of a backup/ })
})

test('a large backup is verified instead, once a week', async (t) => {
  const made = await drilledNode(t)
  const { filename } = await makeBackup(made.owner)
  const folder = join(made.node.dataFolder, 'drill')
  const dataDir = t.testdir()
  const file = join(made.node.dataFolder, 'backups', filename)
  const verdict = async (lastAt: Date | null) => {
    const last = { filename: 'earlier', result: 'verified', problem: null, seconds: null }
    if (lastAt !== null)
      await writeFile(join(dataDir, 'drill.json'), JSON.stringify({ ...last, at: lastAt.toISOString() }))
    const drills = new Drills({ ...made.services, folder, dataDir, log: quiet, maxBytes: 1 })
    await drills.load()
    drills.begin({ file, bytes: 2, identities: [] })
    while (drills.isRunning) await pause(20)
    return drills.last
  }
  const day = 24 * 60 * 60_000
  t.match(await verdict(null), { filename, result: 'verified', problem: null, seconds: null })
  t.match(await verdict(new Date(Date.now() - 6 * day)), { filename: 'earlier' }, 'it is too soon')
  t.match(await verdict(new Date(Date.now() - 8 * day)), { filename, result: 'verified' })
  await appendFile(file, 'and more')
  t.match(await verdict(new Date(Date.now() - 8 * day)), { filename, result: 'failed' })
})

test('the stop of the node ends a drill and leaves nothing behind', async (t) => {
  const { node, owner } = await drilledNode(t, { drill: true })
  await makeBackup(owner)
  const { dataFolder } = node
  t.equal((await statusOf(owner)).isDrilling, true)
  await node.stop()
  t.notOk(existsSync(dataFolder), 'nobody writes into the folder any more')
})

test('a new backup ends the drill of the one before, and is tried itself', async (t) => {
  const { node, owner } = await drilledNode(t, { drill: true })
  await makeBackup(owner)
  const { filename } = await makeBackup(owner)
  t.match(await drillOf(owner), { filename, result: 'passed' })
  t.strictSame(leftOf(node), [])
})

test('what a crash left is removed by the next start', async (t) => {
  const dataFolder = t.testdir({ drill: { data: { 'state.sqlite': 'left' } } })
  const node = await createTestNode({
    dataFolder,
    folder: import.meta.dirname,
    config: { plugins: { files: true, 'storage-local': true, backup: true } },
  })
  t.teardown(() => node.stop())
  while (leftOf(node).length > 0) await pause(20)
  t.strictSame(leftOf(node), [])
})

test('the verdict is said in one sentence', async (t) => {
  const at = new Date(2026, 10, 23, 3, 10)
  const verdict = { filename: 'b', at: at.toISOString(), problem: null } as const
  t.equal(
    sentenceOf({ ...verdict, result: 'passed', seconds: 252 }, new Date(2026, 10, 23, 9)),
    'You could be back in 4 min 12 s, tried today at 03:10.',
  )
  t.equal(
    sentenceOf({ ...verdict, result: 'passed', seconds: 7 }, new Date(2026, 10, 24, 9)),
    'You could be back in 7 s, tried on 2026-11-23 at 03:10.',
  )
  t.equal(
    sentenceOf({ ...verdict, result: 'failed', problem: 'the user ada is missing', seconds: null }, at),
    'Do not rely on the last backup, tried today at 03:10: the user ada is missing',
  )
})
