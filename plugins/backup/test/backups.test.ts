import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { setClock, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, type StorageBackend, StorageBackends } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { writeArchive } from '../src/archive/write-archive.ts'
import { Backups } from '../src/backups.ts'
import { BackupFolder } from '../src/stored/backup-folder.ts'
import { Targets } from '../src/targets/targets.ts'
import { createBackupNode, makeBackup } from './fixtures/backup-node.ts'

interface Status {
  readonly command: string
  readonly targets: { name: string; completeAt: string | null; problem: string | null }[]
  readonly last: { filename: string | null } | null
  readonly next: string | null
  readonly ahead: string[]
}

async function statusOf(owner: TestUser): Promise<Status> {
  return (await (await owner.fetch('/api/backup/status')).json()) as Status
}

/** Resolves with the first status that fits. The time limit of the test ends the wait. */
async function statusWhen(owner: TestUser, fits: (status: Status) => boolean): Promise<Status> {
  for (;;) {
    const status = await statusOf(owner)
    if (fits(status)) return status
    await pause(20)
  }
}

async function healthOf(node: TestNode): Promise<string> {
  return ((await (await node.fetch('/health')).json()) as { status: string }).status
}

/** Puts a backup of an earlier day into a folder. */
async function putOld(folder: string, day: string): Promise<string> {
  const name = `backup-${day.replaceAll('-', '')}-120000.tar.gz`
  const header = { nodekeep: '1.2.3', created: `${day}T12:00:00.000Z`, plugins: [], omitted: [] }
  await writeArchive(join(folder, name), { header, entries: (async function* () {})() })
  return name
}

test('retention deletes what it should, and nothing else', async (t) => {
  const backup = { keep: { last: 2, monthly: 2 } }
  const node = await createBackupNode({ config: { backup } })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { filename } = await makeBackup(owner)
  const folder = join(node.dataFolder, 'backups')
  const old: string[] = []
  for (const day of ['2024-05-01', '2024-06-01', '2024-06-20', '2024-06-21'])
    old.push(await putOld(folder, day))
  const foreign = ['notes.txt', 'backup-20240101-000000.tar.gz.part', 'backup-20230101-000000.tar.gz']
  for (const name of foreign) writeFileSync(join(folder, name), 'not a backup')
  const second = await makeBackup(owner)
  t.strictSame(readdirSync(folder).sort(), [...foreign, filename, second.filename, old.at(-1)].sort())
})

test('a wrong clock deletes no backup, and its backups are named', async (t) => {
  const root = t.testdir()
  const lines: string[] = []
  const node = await createBackupNode({
    config: {
      backup: { keep: { last: 1 }, targets: ['copies'], schedule: '0 0 1 1 *' },
      plugins: { copies: { from: 'storage-local' } },
      copies: { root },
    },
    onLog: (line) => lines.push(line),
  })
  t.teardown(() => node.stop())
  t.teardown(() => setClock(null))
  const makeAt = async (moment: Date | null) => {
    setClock(moment)
    const owner = await node.signIn('owner')
    const { filename } = await makeBackup(owner)
    await statusWhen(
      owner,
      ({ targets: [copies] }) => copies?.problem === null && copied().includes(filename),
    )
    return { filename, status: await statusOf(owner) }
  }
  const copied = () => (existsSync(join(root, 'backups')) ? readdirSync(join(root, 'backups')).sort() : [])
  const present = () => readdirSync(join(node.dataFolder, 'backups')).sort()

  const before = await makeAt(null)
  const ahead = await makeAt(new Date('2099-05-01T12:00:00Z'))
  t.strictSame(present(), [ahead.filename], 'by that clock, it is the newest')
  const after = await makeAt(null)
  t.strictSame(present(), [after.filename, ahead.filename])
  t.strictSame(after.status.ahead, [ahead.filename])
  t.match(after.status.next, new RegExp(`^${new Date().getFullYear() + 1}-01-01|^[0-9]{4}-12-31`))
  const behind = await makeAt(new Date('1970-01-01T00:01:00Z'))
  t.strictSame(present(), [behind.filename, after.filename, ahead.filename])
  const last = await makeAt(null)
  t.strictSame(present(), [last.filename, ahead.filename])
  await statusWhen(await node.signIn('owner'), () => String(copied()) === String(present()))
  t.strictSame(
    lines
      .filter((line) => line.includes('dated in the future'))
      .map((line) => JSON.parse(line).filenames as string[]),
    [[ahead.filename], [after.filename]],
    'each is named once',
  )
  t.not(before.filename, last.filename)
})

test('without retention nothing is deleted', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { filename } = await makeBackup(owner)
  const folder = join(node.dataFolder, 'backups')
  const old = await putOld(folder, '2020-01-01')
  const second = await makeBackup(owner)
  t.strictSame(readdirSync(folder).sort(), [filename, second.filename, old].sort())
})

test('a target gets a copy, and one that is not there fails only its own', async (t) => {
  const root = t.testdir()
  const plugins = {
    copies: { from: 'storage-local' },
    missing: { from: 'storage-memory', required: false },
  }
  const backup = { targets: ['copies', 'missing'], keep: { last: 1 } }
  const lines: string[] = []
  const node = await createBackupNode({
    config: { backup, plugins, copies: { root } },
    onLog: (line) => lines.push(line),
  })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  t.equal((await owner.fetch('/api/system/plugins/missing/disable', { method: 'POST' })).status, 200)
  await makeBackup(owner)
  const { filename, size } = await makeBackup(owner)
  const copies = () => (existsSync(join(root, 'backups')) ? readdirSync(join(root, 'backups')) : [])
  const [copied, missing] = (
    await statusWhen(owner, ({ targets }) => targets[1]?.problem !== null && String(copies()) === filename)
  ).targets
  t.match(copied, { name: 'copies', problem: null })
  t.match(missing, {
    name: 'missing',
    problem: /No plugin provides the storage "missing" of backup\.targets/,
  })
  const warnings = lines.filter((line) => line.includes('A target lacks backups'))
  t.match(warnings, { length: 1 }, 'the reason is logged once')
  t.match(JSON.parse(warnings[0] ?? ''), { target: 'missing', problem: String, err: undefined })
  t.equal(await healthOf(node), 'degraded', 'a target lacks backups')
  t.strictSame(copies(), [filename], 'the same backups stay in the target')
  const listed = (await (await owner.fetch('/api/backup/list')).json()) as { backups: object[] }
  t.match(listed.backups, [{ filename, size }])
})

test('a target that only a plugin has that is switched off does not keep the plugin from starting', async (t) => {
  const plugins = { missing: { from: 'storage-memory', required: false } }
  const config = { backup: { targets: ['missing'] }, plugins }
  const dataFolder = t.testdir()
  const before = await createBackupNode({ config, dataFolder })
  const owner = await before.signIn('owner')
  await owner.fetch('/api/system/plugins/missing/disable', { method: 'POST' })
  await before.stop()
  const node = await createBackupNode({ config, dataFolder })
  t.teardown(() => node.stop())
  t.match(
    node.plugins().find(({ id }) => id === 'backup'),
    { state: 'active' },
  )
})

test('a remote target is refused without recipients', async (t) => {
  const plugins = { 'storage-memory': true }
  const backup = { targets: ['memory'] }
  const node = await createBackupNode({ config: { backup, plugins } })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { filename } = await makeBackup(owner)
  t.ok(filename, 'the backup itself is made')
  const { targets, command } = await statusWhen(owner, ({ targets: [memory] }) => memory?.problem !== null)
  t.match(command, /^\S.* backup$/)
  t.match(targets[0]?.problem, `must be encrypted for it. Set backup.recipients; \`${command} key\``)
})

test('a target out of reach is tried again, and the others get their copies', async (t) => {
  let backends: { get(name: string): StorageBackend | undefined; names(): string[] } | undefined
  const spy = definePlugin({
    id: 'spy',
    requires: { found: StorageBackends },
    setup({ found }) {
      backends = found as never
    },
  })
  const plugins = { 'storage-memory': true, second: { from: 'storage-memory' } }
  const node = await createBackupNode({ plugins: [spy], config: { plugins } })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { filename } = await makeBackup(owner)
  const real = (name: string) => backends?.get(name) as StorageBackend
  let tries = 0
  const flaky = (): StorageBackend => {
    tries += 1
    if (tries < 3) throw new Error('The other house has no power.')
    return real('memory')
  }
  const names = ['memory', 'second']
  const registry = { get: (name: string) => (name === 'memory' ? flaky() : real(name)), names: () => names }
  const folder = new BackupFolder(join(node.dataFolder, 'backups'))
  const logged: string[] = []
  const log = {
    info: (_: object, text: string) => logged.push(text),
    warn: (_: object, text: string) => logged.push(text),
  }
  const targets = new Targets({
    names,
    backends: registry as never,
    folder,
    keep: undefined,
    isEncrypted: true,
    command: 'nodekeep backup',
    log: log as never,
  })
  const end = new AbortController()
  const backups = new Backups({
    maker: {} as never,
    folder,
    targets,
    keep: undefined,
    state: {} as never,
    log: log as never,
    signal: end.signal,
    onMade() {},
    retryMs: 1,
  })
  backups.updateTargets()
  while (targets.states[1]?.completeAt === null) await new Promise(setImmediate)
  t.equal((await real('second').stat(`/backups/${filename}`)).type, 'file', 'the other target has its copy')
  // The timer of the next try does not keep a process alive.
  while (targets.areBehind || targets.states[0]?.completeAt === null)
    await new Promise((resolve) => setTimeout(resolve, 1))
  t.equal(tries, 3)
  t.equal((await real('memory').stat(`/backups/${filename}`)).type, 'file')
  t.equal(logged.filter((text) => text.includes('is tried again')).length, 1, 'the outage is logged once')
  t.ok(logged.includes('The target of backups is complete again.'))
  end.abort()
  await backups.close()
})

test('a schedule that was missed is made up for once at the next start', async (t) => {
  const dataFolder = t.testdir()
  const yearly = { dataFolder, config: { backup: { schedule: '0 0 1 1 *' } } }
  const first = await createBackupNode(yearly)
  const made = await makeBackup(await first.signIn('owner'))
  await first.stop()
  // Three runs were missed.
  const state = new DatabaseSync(join(dataFolder, 'state.sqlite'))
  const at = '2022-06-01T00:00:00.000Z'
  const last = JSON.stringify({ value: { at, filename: made.filename, problem: null } })
  const { changes } = state
    .prepare("UPDATE state SET value = ? WHERE namespace = 'backup' AND key = 'last'")
    .run(last)
  t.equal(changes, 1)
  state.close()

  const second = await createBackupNode(yearly)
  const owner = await second.signIn('owner')
  const isLater = ({ last }: Status) => last?.filename !== made.filename
  const { last: run } = await statusWhen(owner, isLater)
  t.equal(await healthOf(second), 'ok')
  await second.stop()

  const third = await createBackupNode(yearly)
  t.teardown(() => third.stop())
  t.match((await statusOf(await third.signIn('owner'))).last, { filename: run?.filename ?? '' })
  t.strictSame(
    readdirSync(join(dataFolder, 'backups')).sort(),
    [made.filename, run?.filename ?? ''].sort(),
    'it ran once',
  )
})
