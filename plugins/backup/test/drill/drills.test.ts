import { hash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { NodeTrials } from '@nodekeep/plugin-sdk'
import t, { type Test, test } from 'tap'
import type { BackupHeader } from '../../src/archive/backup-header.ts'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { Drills } from '../../src/drill/drills.ts'
import { TriedContents } from '../../src/drill/tried-contents.ts'
import type { DrillVerdict } from '../../src/drill/verdict.ts'
import { BackupFolder } from '../../src/stored/backup-folder.ts'
import { makeBackup, put } from '../fixtures/backup-node.ts'
import { drilledNode } from './fixtures/drilled-node.ts'
import type { Services } from './fixtures/probe/index.ts'
import { rewriterOf } from './fixtures/rewrite-archive.ts'

interface Status {
  readonly drill: DrillVerdict | null
  readonly isDrilling: boolean
  readonly rehearsed: string | null
}

t.jobs = 3

const quiet = { info() {}, warn() {}, error() {} }

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
  more: { maxBytes?: number; sampleBytes?: number; bytes?: number } = {},
): Promise<DrillVerdict | null> {
  const { bytes = 0, ...parts } = more
  const folder = join(node.dataFolder, 'drill')
  const dataDir = t.testdir()
  const contents = new TriedContents(
    () => join(dataDir, 'contents.sqlite'),
    async () => [],
  )
  t.teardown(() => contents.close())
  const drills = new Drills({ ...services, folder, dataDir, contents, log: quiet, ...parts })
  drills.begin({ file: join(node.dataFolder, 'backups', filename), bytes, identities: [] })
  while (drills.isRunning) await pause(20)
  t.strictSame(leftOf(node), [], 'nothing is left behind')
  return drills.last
}

test('a node that was started on an encrypted backup has everything, and storages with files of one path and size are told apart', async (t) => {
  const { recipient } = await generateKey()
  const { node, ada, bob, owner, services } = await drilledNode(
    t,
    { drill: true, recipients: [recipient], include: ['trash', 'versions'] },
    { '/disk': 'disk3', '/memory': 'memory' },
  )
  for (const point of ['', '/disk', '/disk/second']) {
    await put(ada, `${point}/same.txt`, `of ${point.padEnd(12)}`)
    await put(ada, `${point}/second/same.txt`, `in ${point.padEnd(12)}`)
  }
  for (const content of ['a version', 'in the trash']) await put(ada, '/disk/gone.txt', content)
  await ada.fetch('/delete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/disk/gone.txt' }),
  })
  // The storage has no plain files, so that both nodes share it, and it is not compared.
  await put(ada, '/memory/c.txt', 'not on a disk')
  // The mounts hide these.
  const home = join(node.dataFolder, 'files', ada.user.uuid)
  await mkdir(join(home, 'disk', 'second'), { recursive: true })
  await writeFile(join(home, 'disk', 'same.txt'), 'hidden'.padEnd(15))
  await writeFile(join(home, 'disk', 'second', 'same.txt'), 'hidden'.padEnd(15))
  const seen = ['of Ada', 'on another disk', 'not on a disk']
  const contents = [...seen, 'hidden'.padEnd(15), 'of the owner', 'a version', 'in the trash']
  const having = (user: TestUser) =>
    services.tried.having(
      user.user,
      contents.map((content) => hash('sha256', content)),
    )
  const none = contents.map(() => null)
  t.strictSame(await having(ada), none, 'none was tried out')
  const { filename } = await makeBackup(owner)
  const verdict = await drillOf(owner)
  t.match(verdict, { filename, result: 'passed', problem: null, seconds: Number })
  const dates = { createdAt: Date, triedAt: new Date(verdict?.at ?? '') }
  t.match(
    await having(ada),
    [dates, dates, dates, null, null, null, null],
    'the node knows the contents without a key',
  )
  t.strictSame(await having(bob), none, 'they are of another user')
  await owner.fetch(`/api/backup/${filename}`, { method: 'DELETE' })
  t.strictSame(await having(ada), none, 'that backup is gone')
  t.match(await healthOf(owner), { ok: true, state: 'unrehearsed' })
  t.strictSame(leftOf(node), [])
  const stored = await readFile(join(node.dataFolder, 'plugins', 'backup', 'drill.json'), 'utf8')
  t.notMatch(stored, /AGE-SECRET/, 'its key is stored nowhere')
})

test('a backup that is damaged or differs from what it says fails its drill, and one that does not fit is skipped', async (t) => {
  const made = await drilledNode(t)
  const { ada } = made
  const { filename } = await makeBackup(made.owner)
  const rewrite = await rewriterOf(t, join(made.node.dataFolder, 'backups', filename))
  const wrong = async (
    name: string,
    change: (folder: string) => Promise<void>,
    changeHeader?: (header: BackupHeader) => BackupHeader,
  ) => {
    await rewrite(join(made.node.dataFolder, 'backups', name), change, changeHeader)
    return verdictOn(t, made, name)
  }

  const unknown = await wrong(
    'backup-20260101-000000.tar.gz',
    (folder) => rm(join(folder, 'files', 'local', ada.user.uuid, 'empty')),
    ({ mounts: _, ...header }) => header,
  )
  t.match(
    unknown,
    { result: 'passed' },
    'an archive of an earlier version does not say where its files belong',
  )

  const other = await wrong('backup-20260101-000001.tar.gz', async (folder) => {
    using state = new DatabaseSync(join(folder, 'state', 'state.sqlite'))
    state.prepare('UPDATE users SET username = ? WHERE uuid = ?').run('eve', ada.user.uuid)
  })
  t.match(other, { result: 'failed', problem: /has another username/ })

  const broken = await wrong('backup-20260101-000002.tar.gz', async (folder) => {
    await writeFile(join(folder, 'state', 'state.sqlite'), 'no database at all')
  })
  t.match(broken, { result: 'failed', problem: String })

  const tooLarge = await verdictOn(t, made, filename, { bytes: 2 ** 60, maxBytes: 2 ** 61 })
  t.match(tooLarge, { result: 'skipped', problem: /too little space for the drill of a backup/ })

  await appendFile(join(made.node.dataFolder, 'backups', filename), 'and more')
  t.match(await verdictOn(t, made, filename), { filename, result: 'failed', problem: String })
})

test('of a large backup all is verified, and a node starts on a sample of its files, once a week', async (t) => {
  const made = await drilledNode(t)
  const { ada, owner } = made
  for (let index = 0; index < 50; index++) await put(ada, `/many/${index}`, `number ${index}`)
  await put(owner, '/large', 'x'.repeat(1000))
  const { filename } = await makeBackup(owner)
  const folder = join(made.node.dataFolder, 'drill')
  const dataDir = t.testdir()
  const file = join(made.node.dataFolder, 'backups', filename)
  const backups = new BackupFolder(join(made.node.dataFolder, 'backups'))
  const contents = new TriedContents(
    () => join(dataDir, 'contents.sqlite'),
    () => backups.list(),
  )
  t.teardown(() => contents.close())
  /** The number of contents of Ada that are in a backup that was tried out. */
  const known = async () => {
    const sums = Array.from({ length: 50 }, (_, index) => hash('sha256', `number ${index}`))
    return (await contents.having(ada.user, sums)).filter((found) => found !== null).length
  }
  /** The paths of the files of each trial. */
  const started: string[][] = []
  const verdict = async (lastAt: Date | null, more: { sampleBytes?: number; trials?: NodeTrials } = {}) => {
    const last = { filename: 'earlier', result: 'verified', problem: null, seconds: null }
    if (lastAt !== null)
      await writeFile(join(dataDir, 'drill.json'), JSON.stringify({ ...last, at: lastAt.toISOString() }))
    const parts = {
      ...made.services,
      contents,
      folder,
      dataDir,
      log: quiet,
      maxBytes: 1000,
      sampleBytes: 100,
    }
    const trials: NodeTrials = {
      async start(options) {
        for (const name of ['manifest.json', 'users.json'])
          t.equal(statSync(join(folder, name)).mode & 0o777, 0o600, `${name} is for the node only`)
        const trial = await (more.trials ?? made.services.trials).start(options)
        const roots = options.folders?.map(({ path }) => path) ?? []
        started.push(roots.flatMap((root) => (existsSync(root) ? filesIn(root) : [])))
        return trial
      },
    }
    const drills = new Drills({ ...parts, ...more, trials })
    await drills.load()
    drills.begin({ file, bytes: 1500, identities: [] })
    while (drills.isRunning) await pause(20)
    t.strictSame(leftOf(made.node), [], 'nothing is left behind')
    return drills.last
  }
  const day = 24 * 60 * 60_000
  t.equal(await known(), 0)
  t.match(await verdict(null), { filename, result: 'verified', problem: null, seconds: null })
  t.equal(await known(), 50, 'every byte was read, so all contents count')
  const [files = []] = started
  t.ok(files.length >= 3 && files.length < 30, `${files.length} files were restored`)
  t.ok(
    files.some((path) => path.includes(owner.user.uuid)),
    'each user has one at least',
  )
  t.notOk(
    files.some((path) => path.endsWith('/large')),
    'this one does not fit',
  )

  t.match(await verdict(new Date(Date.now() - 6 * day)), { filename: 'earlier' }, 'it is too soon')
  t.equal(started.length, 1)

  const weekAgo = new Date(Date.now() - 8 * day)
  const full = await verdict(weekAgo, { sampleBytes: 2 ** 60 })
  t.match(full, { filename, result: 'verified', problem: /too little space for the drill/ })
  t.equal(started.length, 1, 'no node was started')

  const afterWrongClock = await verdict(new Date(Date.now() + 400 * day), { sampleBytes: 2 ** 60 })
  t.match(afterWrongClock, { filename, result: 'verified' }, 'the last one may be old')

  const broken: NodeTrials = {
    async start(options) {
      const trial = await made.services.trials.start(options)
      const [path = ''] =
        options.folders?.flatMap(({ path }) => (existsSync(path) ? filesIn(path) : [])) ?? []
      await writeFile(path, 'something else')
      return trial
    },
  }
  t.match(await verdict(weekAgo, { trials: broken }), { result: 'failed', problem: /has another size/ })

  t.equal(await known(), 50, 'an earlier drill has shown that the content is there')
  await appendFile(file, 'and more')
  t.equal(await known(), 0, 'this is not the archive any more that was tried out')
  t.match(await verdict(weekAgo), { filename, result: 'failed' })
})

/** The paths of all files of users in a storage. */
function filesIn(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('.nodekeep'))
    .map((entry) => join(entry.parentPath, entry.name))
}

test('a new backup ends the drill of the one before, and so does the stop of the node', async (t) => {
  const { node, owner } = await drilledNode(t, { drill: true })
  await makeBackup(owner)
  const { filename } = await makeBackup(owner)
  t.match(await drillOf(owner), { filename, result: 'passed' }, 'the new one is tried itself')
  t.strictSame(await healthOf(owner), { ok: true, state: 'available' })
  t.strictSame(leftOf(node), [])

  await makeBackup(owner)
  t.equal((await statusOf(owner)).isDrilling, true)
  const { dataFolder } = node
  await node.stop()
  t.notOk(existsSync(dataFolder), 'nobody writes into the folder any more')
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
