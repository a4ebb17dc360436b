// In a process of its own: it starts the command line and two nodes.
import { type ChildProcess, type ExecFileException, execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestNode, runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import t, { type Test, test } from 'tap'

// It mostly waits for processes.
t.jobs = 3

const cli = fileURLToPath(new URL('../../kernel/bin/nodekeep.js', import.meta.url))
const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Makes the program believe that its standard input is a terminal. */
const asTerminal = ['--import', 'data:text/javascript,process.stdin.isTTY = true']

const plugins = { files: true, 'storage-local': true, backup: true }

interface Command {
  readonly child: ChildProcess
  /** Its code and everything that a person sees, when it has ended. */
  readonly ended: Promise<{ readonly code: number; readonly text: string }>
}

/** A folder with a configuration, in which commands run, and data folders on which nodes start. */
function placeFor(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-command-'))
  let node: TestNode | undefined
  t.teardown(async () => {
    await node?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  let config: object = { plugins }
  /** Changes the configuration of the commands, and of later starts. */
  const configure = (more: {
    readonly plugins?: Readonly<Record<string, true>>
    readonly [section: string]: unknown
  }) => {
    const all = { ...plugins, ...more.plugins }
    config = { ...more, plugins: all }
    const from = Object.keys(all).map((name) => [name, { from: join(repository, 'plugins', name) }])
    writeFileSync(
      join(folder, 'nodekeep.json'),
      JSON.stringify({ ...config, plugins: Object.fromEntries(from) }),
    )
  }
  configure({})
  const env = { PATH: process.env.PATH }
  const command = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await runCommand(['backup', ...args], { cwd: folder, env })
    return { code, text: stdout + stderr }
  }
  return {
    folder,
    configure,
    async stop() {
      await node?.stop()
      node = undefined
    },
    /** Starts the node, or starts it again. */
    async start(data: string): Promise<TestUser> {
      await node?.stop()
      node = undefined
      const dataFolder = join(folder, data)
      node = await createTestNode({
        dataFolder,
        folder: repository,
        config: { backup: { drill: false }, ...config },
      })
      return node.signIn('owner')
    },
    /** Runs a command that succeeds. */
    async run(...args: string[]): Promise<string> {
      const { code, text } = await command(args)
      if (code !== 0) throw new Error(text)
      return text
    },
    /** Runs a command that fails, without a stack for people. */
    async refused(...args: string[]): Promise<string> {
      const { code, text } = await command(args)
      if (code !== 1 || text.includes('    at ')) throw new Error(`${code} ${text}`)
      return text
    },
    /** Begins a command in a process of its own, and waits until it asks the person at its terminal. */
    async asking(...args: string[]): Promise<Command> {
      const { promise: ended, resolve } = Promise.withResolvers<{ code: number; text: string }>()
      const child = execFile(
        process.execPath,
        [...process.execArgv, ...asTerminal, cli, 'backup', ...args],
        { cwd: folder, env },
        (error: ExecFileException | null, stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), text: stdout + stderr }),
      )
      let text = ''
      while (!text.includes('[y/N]')) text += (await once(child.stderr as NodeJS.ReadableStream, 'data'))[0]
      return { child, ended }
    },
  }
}

async function makeBackup(owner: TestUser): Promise<string> {
  const answer = await owner.fetch('/api/backup/create', { method: 'POST' })
  return ((await answer.json()) as { filename: string }).filename
}

const write = (user: TestUser, body: string) => user.fetch('/write?path=/a', { method: 'PUT', body })
const read = async (user: TestUser) => (await user.fetch('/read?path=/a')).text()

test('the command restores onto an empty machine and onto a node that runs, and forgets the former data', async (t) => {
  const { folder, run, start, stop } = placeFor(t)
  const owner = await start('first')
  await write(owner, 'content')
  const archive = join(folder, 'first', 'backups', await makeBackup(owner))
  await stop()
  const named = await run('verify', basename(archive), '--data', join(folder, 'first'))
  t.match(named, /The backup is whole/, 'a name of the list is enough')

  // Without an answer, as without a terminal, nothing happens.
  const data = join(folder, 'second')
  t.match(
    await run('restore', archive, '--data', data),
    /Nothing was changed\. With --yes, the command does not ask\./,
  )
  t.strictSame(readdirSync(join(data, 'restore')), ['lock'])
  const text = await run('restore', archive, '--data', data, '--yes')
  t.match(text, owner.user.username, 'the users that come back are named')
  t.match(text, /restored when the node starts/)
  t.notOk(existsSync(join(data, 'state.sqlite')), 'nothing is in its place yet')

  const back = await start('second')
  t.equal(back.user.uuid, owner.user.uuid)
  t.equal(await read(back), 'content')
  await write(back, 'changed')

  t.match(await run('restore', archive, '--data', data, '--yes'), /works on with its present data/)
  t.equal(await read(back), 'changed')
  const again = await start('second')
  t.equal(await read(again), 'content')

  mkdirSync(join(data, 'backups'), { recursive: true })
  const previous = async () => {
    const status = (await (await again.fetch('/api/backup/status')).json()) as { previous: unknown[] }
    return status.previous
  }
  while ((await previous()).length < 2) await delay(20)
  t.match(await run('list', '--data', data), /from before the last restore is kept/)
  t.match(await run('forget-previous', '--data', data, '--yes'), /deleted/)
  t.strictSame(await previous(), [])
  t.strictSame(readdirSync(join(data, 'restore')), ['applied.json', 'lock'])
  t.strictSame(readdirSync(join(data, 'files', '.nodekeep')).includes('restore'), false)
  t.match(await run('forget-previous', '--data', data), /no former data/)
  t.equal(readFileSync(join(data, 'files', again.user.uuid, 'a'), 'utf8'), 'content')
})

test('the command restores a node whose state is damaged, empty or missing', async (t) => {
  const { folder, run, start, stop } = placeFor(t)
  const owner = await start('data')
  await write(owner, 'content')
  const archive = join(folder, 'data', 'backups', await makeBackup(owner))
  const state = join(folder, 'data', 'state.sqlite')
  const losses = {
    damaged: () => writeFileSync(state, 'This is no database. '.repeat(400)),
    empty: () => truncateSync(state),
    missing: () => rmSync(state),
  }
  for (const [loss, lose] of Object.entries(losses)) {
    await stop()
    lose()
    await t.rejects(start('data'), {
      message: /Restore the node from a backup: nodekeep backup restore FILE/,
    })
    t.match(
      await run('restore', archive, '--data', join(folder, 'data'), '--yes'),
      /present owner +none/,
      loss,
    )
    const back = await start('data')
    t.equal(back.user.uuid, owner.user.uuid)
    t.equal(await read(back), 'content', loss)
  }
})

test('one restore at a time is prepared, by a command or by the node, and what a killed one has left goes', async (t) => {
  const { folder, start, stop, run, refused, asking } = placeFor(t)
  const owner = await start('data')
  await write(owner, 'backup')
  const filename = await makeBackup(owner)
  await write(owner, 'present')
  const data = ['--data', join(folder, 'data')]
  const archive = join(folder, 'data', 'backups', filename)
  const overHttp = (confirm: boolean) =>
    owner.fetch('/api/backup/restore', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ filename, confirm }),
    })
  const restores = () => readdirSync(join(folder, 'data', 'restore')).filter((name) => name !== 'lock')

  const killed = await asking('restore', archive, ...data)
  t.match(
    await refused('restore', archive, ...data, '--yes'),
    /Another restore of this node is being prepared/,
  )
  t.match(await refused('restore', '--cancel', ...data), /Another restore/)
  t.equal((await overHttp(true)).status, 409)
  t.equal(restores().length, 1)
  killed.child.kill('SIGKILL')
  await killed.ended
  t.equal(restores().length, 1, 'it could remove nothing')
  t.equal((await overHttp(false)).status, 200)
  t.equal(restores().length, 1, 'the next restore removes it')

  const confirmed = await asking('restore', archive, ...data)
  confirmed.child.stdin?.write('yes\n')
  confirmed.child.stdin?.end()
  t.match((await confirmed.ended).text, /restored at the next start of the node/)
  t.match(await run('list', ...data), /The next start of the node restores backup-/)
  t.match(
    await run('restore', archive, ...data, '--yes'),
    new RegExp(`instead of the planned restore of +${filename}`),
  )
  t.match(await run('restore', '--cancel', ...data), /is taken back\. The node keeps its present data/)
  t.strictSame(restores(), [])

  await stop()
  const interrupted = await asking('restore', archive, ...data)
  interrupted.child.kill('SIGTERM')
  t.match(await interrupted.ended, { code: 1, text: /The command was interrupted/ })
  t.strictSame(restores(), [])

  const first = await asking('restore', archive, ...data)
  t.match(
    await refused('restore', archive, ...data, '--yes'),
    /Another restore of this node is being prepared/,
  )
  first.child.stdin?.end('no\n')
  t.match((await first.ended).text, /Nothing was changed/)
  t.strictSame(restores(), [])
  t.equal(await read(await start('data')), 'present')
})

test('a restore is taken back while no node runs, also one that a start has begun to apply', async (t) => {
  const { folder, start, stop, run, refused } = placeFor(t)
  const owner = await start('data')
  await write(owner, 'backup')
  const filename = await makeBackup(owner)
  await write(owner, 'present')
  await stop()
  const data = join(folder, 'data')
  t.match(await refused('restore', '--cancel', '--data', data), /No restore is prepared or planned/)
  t.match(await refused('restore', '--cancel', '--data', join(folder, 'nowhere')), /No restore/)
  t.notOk(existsSync(join(folder, 'nowhere')))
  const left = () => readdirSync(join(data, 'restore')).filter((name) => name !== 'lock')
  const restored = await run('restore', join(data, 'backups', filename), '--data', data, '--yes')
  t.match(restored, /nodekeep backup restore --cancel/)
  // As a start leaves it that is killed after its first move.
  const name = left().find((one) => one.startsWith('backup-')) ?? ''
  const plan = join(data, 'restore/plan.json')
  writeFileSync(plan, JSON.stringify({ ...JSON.parse(readFileSync(plan, 'utf8')), hasBegun: true }))
  mkdirSync(join(data, 'restore', name, 'previous'))
  renameSync(join(data, 'state.sqlite'), join(data, 'restore', name, 'previous/state.sqlite'))
  t.match(await run('restore', '--cancel', '--data', data), /is taken back/)
  t.strictSame(left(), [])
  t.notOk(readdirSync(join(data, 'files/.nodekeep')).includes('restore'))
  t.equal(await read(await start('data')), 'present')
})

test('without a running node, files of storages without plain files come back, or are refused by name', async (t) => {
  const { folder, configure, start, stop, run, refused } = placeFor(t)
  const withMemory = {
    storage: { mounts: { '/memory': 'memory' } },
    plugins: { 'storage-memory': true },
  } as const
  configure(withMemory)
  const owner = await start('first')
  await owner.fetch('/write?path=/memory/a', { method: 'PUT', body: 'in memory' })
  const archive = join(folder, 'first', 'backups', await makeBackup(owner))
  await stop()
  const data = ['--data', join(folder, 'second')]

  configure({})
  t.match(
    await refused('restore', archive, ...data, '--yes'),
    /files of the storage "memory", which this node does not have\. Add the plugin "storage-memory" .*--without memory/,
  )
  t.match(await run('restore', archive, ...data, '--yes', '--without', 'memory'), /nodekeep start/)
  configure(withMemory)
  t.match(await run('restore', archive, ...data, '--yes'), /nodekeep start/)
  const again = await start('second')
  let answer = await again.fetch('/read?path=/memory/a')
  while (answer.status === 503) {
    await delay(20)
    answer = await again.fetch('/read?path=/memory/a')
  }
  t.equal(await answer.text(), 'in memory')
})

test('what root restores belongs to the account of the node', {
  skip: process.getuid?.() !== 0 && 'Only root can try it.',
}, async (t) => {
  const { folder, configure, start, stop, run } = placeFor(t)
  const root = join(folder, 'disk', 'files')
  configure({ 'storage-local': { root } })
  const owner = await start('data')
  await write(owner, 'content')
  const data = join(folder, 'data')
  const archive = join(data, 'backups', await makeBackup(owner))
  await stop()
  rmSync(root, { recursive: true })
  const account = 65_534
  const all = (top: string) => [
    top,
    ...readdirSync(top, { recursive: true, encoding: 'utf8' }).map((path) => join(top, path)),
  ]
  for (const path of all(data)) chownSync(path, account, account)
  const ofRoot = join(folder, 'of root')
  writeFileSync(ofRoot, '')
  mkdirSync(join(data, 'restore'), { recursive: true })
  symlinkSync(ofRoot, join(data, 'restore', 'symbolic link'))
  linkSync(ofRoot, join(data, 'restore', 'hard link'))
  await run('restore', archive, '--data', data, '--yes')
  const ofOthers = () =>
    [...all(data), ...all(root)].filter((path) => !path.endsWith('link') && statSync(path).uid !== account)
  t.strictSame(ofOthers(), [])
  t.equal(statSync(ofRoot).uid, 0, 'links give nothing away')
  t.ok(existsSync(join(data, 'restore/plan.json')))
  await run('restore', '--cancel', '--data', data)
  t.strictSame(ofOthers(), [])
})

test('a restore beside a node that runs is refused the folder of its storage', async (t) => {
  const { folder, configure, start, stop, run, refused } = placeFor(t)
  const root = join(folder, 'disk')
  configure({ 'storage-local': { root } })
  const owner = await start('first')
  await write(owner, 'present')
  const archive = join(folder, 'first', 'backups', await makeBackup(owner))
  const restore = ['restore', archive, '--data', join(folder, 'second'), '--yes']
  t.match(
    await refused(...restore),
    /Another node uses the folder .*disk, whose files .* Stop that node, or .*"root" of the plugin "storage-local"/,
  )
  t.equal(await read(owner), 'present')
  t.strictSame(readdirSync(join(root, '.nodekeep')).includes('restore'), false)

  // The other node starts again after the restore was planned.
  await stop()
  t.match(await run(...restore), /nodekeep start/)
  const again = await start('first')
  const other = {
    dataFolder: join(folder, 'second'),
    folder: repository,
    config: { plugins, 'storage-local': { root } },
  }
  await t.rejects(createTestNode(other), { message: /another node uses .*disk\. Mend the cause/ })
  t.equal(await read(again), 'present')
  await stop()
  t.equal(await read(await start('second')), 'present')
})

test('an archive that cannot be read is refused in a sentence, and no data folder is made', async (t) => {
  const { folder, run, refused } = placeFor(t)
  const fixture = (name: string) => join(repository, 'plugins/backup/test/fixtures', name)
  const encrypted = fixture('format-1-encrypted.tar.gz')
  const nowhere = ['--data', join(folder, 'nowhere')]
  const refusals: readonly (readonly [string[], RegExp])[] = [
    [['restore', 'none.tar.gz', ...nowhere], /The archive none\.tar\.gz does not exist\./],
    [['restore', ...nowhere], /Give the backup to restore: nodekeep backup restore FILE/],
    [['verify', encrypted], /is encrypted\. Give its recovery key: --key FILE/],
    [['restore', encrypted, '--data', 'nodekeep.json'], /a file is in its place/],
  ]
  await Promise.all(refusals.map(async ([args, message]) => t.match(await refused(...args), message)))
  t.notOk(existsSync(join(folder, 'nowhere')))
  t.match(await run('verify', encrypted, '--key', fixture('format-1.key')), /The backup is whole/)
})
