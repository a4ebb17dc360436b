import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { root, startProgram } from '../run/command.ts'
import { checkInstalls } from '../walls/installs.ts'
import { type Consumer, installConsumer } from './consumer.ts'
import { packWorkspaces } from './pack.ts'

const folder = await mkdtemp(join(tmpdir(), 'nodekeep-tarballs-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const consumer = await installConsumer(await packWorkspaces(folder))
t.teardown(() => consumer.remove())

t.test('installing the packages compiles and downloads nothing', async (t) => {
  t.strictSame(checkInstalls(consumer.folder), [])
  const lock = await readFile(join(consumer.folder, 'package-lock.json'), 'utf8')
  t.notMatch(lock, 'node_modules/better-sqlite3"')
})

t.test('the published declarations hold, to their last line', async (t) => {
  const tsc = join(root, 'node_modules/.bin/tsc')
  await t.resolves(consumer.run(tsc, '--project', consumer.folder, '--skipLibCheck', 'false'))
})

t.test('the command of the kernel is there and knows its version', async (t) => {
  const manifest = JSON.parse(await readFile(join(root, 'kernel/package.json'), 'utf8'))
  t.match(await consumer.run('npx', 'nodekeep', '--version'), manifest.version)
})

t.test('a node starts from the packages, answers, and stops', async (t) => {
  const address = await startNode(t, consumer)
  const health = await fetch(new URL('/health', address))
  t.equal(health.status, 200)
  t.match(await health.json(), { status: 'ok' })
})

/** Starts a node on a free port; answers its address as it prints it. The node must end well with the test. */
async function startNode(t: Test, { folder, env }: Consumer): Promise<string> {
  const args = ['start', '--port', '0', '--data', join(folder, 'data')]
  const node = startProgram(join(folder, 'node_modules/.bin/nodekeep'), args, { cwd: folder, env })
  const ended = once(node, 'exit')
  t.teardown(async () => {
    node.kill('SIGTERM')
    t.strictSame(await ended, [0, null], 'SIGTERM ends the node well')
  })
  let printed = ''
  node.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  for await (const line of createInterface(node.stdout)) {
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
    if (address) return address
    printed += `${line}\n`
  }
  throw new Error(`The node ended before it said where it listens:\n${printed}`)
}
