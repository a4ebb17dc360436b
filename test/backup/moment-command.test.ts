import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'

const program = fileURLToPath(import.meta.resolve('@nodekeep/kernel/package.json')).replace(
  'package.json',
  'bin/nodekeep.js',
)

function startCommand(
  folder: string,
  args: readonly string[],
): ChildProcessByStdio<null, Readable, Readable> {
  const all = ['--conditions=nodekeep-source', program, 'backup', 'moment', ...args]
  const { NODE_OPTIONS: _ofTap, ...env } = process.env
  return spawn(process.execPath, all, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function run(folder: string, ...args: string[]) {
  const child = startCommand(folder, args)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, stdout, stderr }
}

/** Resolves when the condition holds. The time limit of the test ends the wait. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function folderOf(t: Test) {
  const folder = t.testdir()
  const plugins = { files: true, 'storage-local': true, backup: true }
  const data = join(folder, 'data')
  const config = { data, backup: { drill: false }, plugins }
  writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify(config))
  const start = async () => {
    const node = await createTestNode({
      dataFolder: data,
      folder,
      config: { backup: config.backup, plugins },
    })
    t.teardown(() => node.stop())
    const owner = await node.signIn('owner')
    await owner.fetch('/write?path=/hello.txt', { method: 'PUT', body: 'hello' })
    return { node, owner }
  }
  return { folder, start, view: join(data, 'backups/moment') }
}

test('a command runs with a view, and its exit code is passed on', async (t) => {
  const { folder, start, view } = await folderOf(t)
  const { owner } = await start()
  const file = `{}/files/local/${owner.user.uuid}/hello.txt`
  const printed = await run(folder, '--', 'sh', '-c', 'cat -n "$1"; exit 7', 'sh', file)
  t.strictSame(printed, { code: 7, stdout: '     1\thello', stderr: '' })
  t.notOk(existsSync(view))
  t.match(await run(folder, '--', 'sh', '-c', 'kill -9 $$; echo {}'), { code: 137 })
  t.match(await run(folder, '--copy', '--', 'sh', '-c', `echo changed > ${file}`), { code: 0 })
  t.equal(await (await owner.fetch('/read?path=/hello.txt')).text(), 'hello')
  t.notOk(existsSync(view))
})

test('a command that cannot run says why', async (t) => {
  const { folder, start, view } = await folderOf(t)
  t.match(await run(folder, '--', 'ls', '{}'), { code: 1, stderr: /No node runs .*nodekeep start/ })
  await start()
  t.match(await run(folder, '--', 'ls'), { code: 1, stderr: /needs \{\} where the path/ })
  t.match(await run(folder, '--', 'no-such-program', '{}'), {
    code: 1,
    stderr: /"no-such-program" cannot be started: there is no such program\./,
  })
  t.match(await run(folder), { code: 1, stderr: /missing required argument 'command'/ })
  t.notOk(existsSync(view))
})

test('signals reach the command, and the view goes in every case', async (t) => {
  const { folder, start, view } = await folderOf(t)
  const { node } = await start()
  const said = join(folder, 'said')
  const script = `trap 'echo ended > ${said}; exit 3' TERM; echo $$ > ${said}; while :; do sleep 0.1; done # {}`
  const begin = async () => {
    writeFileSync(said, '')
    const child = startCommand(folder, ['--', 'sh', '-c', script])
    await until(() => Number(readFileSync(said, 'utf8')) > 0)
    t.ok(existsSync(view))
    return child
  }
  const killed = await begin()
  killed.kill('SIGKILL')
  await until(() => !existsSync(view))
  process.kill(Number(readFileSync(said, 'utf8')))
  await until(() => readFileSync(said, 'utf8') === 'ended\n')

  const stopped = await begin()
  stopped.kill('SIGTERM')
  t.strictSame(await once(stopped, 'close'), [3, null])
  t.equal(readFileSync(said, 'utf8'), 'ended\n')
  t.notOk(existsSync(view))

  const cut = await begin()
  const errors = text(cut.stderr)
  const exited = once(cut, 'exit')
  await node.stop()
  t.strictSame(await exited, [1, null])
  t.match(await errors, /The node ended and took the folder back/)
  t.equal(readFileSync(said, 'utf8'), 'ended\n', 'the command does not go on without the view')
  t.notOk(existsSync(view))
})
