import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type Program, startProgram } from '../run/command.ts'
import { packedPlugin } from '../update/registry.ts'
import { wat } from '../wasm/wat.ts'
import { consumerForTest } from './consumer.ts'

const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
/** The SDK that runs this program is one of the libraries inside a published package. */
const program = `(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start") (call $exit (i32.const 7))))`

const consumer = await consumerForTest(t)

t.test('a node starts from the packages, runs programs, and stops', async (t) => {
  const nodekeep = join(consumer.folder, 'node_modules/.bin/nodekeep')
  const data = join(consumer.folder, 'data')
  const node = startProgram(nodekeep, ['start', '--port', '0', '--data', data], {
    cwd: consumer.folder,
    env: consumer.env,
  })
  t.teardown(() => node.kill('SIGKILL'))
  const ended = once(node, 'exit')
  const address = await addressOf(node)
  const health = await fetch(new URL('/health', address))
  t.equal(health.status, 200)
  t.match(await health.json(), { status: 'ok' })

  const printed = await consumer.run(nodekeep, 'session', 'create', '--data', data, '--wallet', wallet)
  const headers = {
    authorization: `Bearer ${/nks_\S+/.exec(printed)?.[0]}`,
    'content-type': 'application/json',
  }
  const stored = await fetch(new URL('/write?path=/exit.wasm', address), {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'application/wasm' },
    body: await wat(program),
  })
  t.equal(stored.status, 200, await stored.text())
  const run = await fetch(new URL('/api/wasm/run', address), {
    method: 'POST',
    headers,
    body: JSON.stringify({ filepath: '/exit.wasm' }),
  })
  t.match(await run.json(), { success: false, exitCode: 7 })

  node.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

t.test('a plugin is added to a node of packages', async (t) => {
  const nodekeep = join(consumer.folder, 'node_modules/.bin/nodekeep')
  const folder = join(consumer.folder, 'added')
  await mkdir(folder)
  const [tarball, file] = [join(folder, 'threaded.tgz'), join(folder, 'nodekeep.json')]
  await writeFile(tarball, await packedPlugin())
  await writeFile(file, '{ "extends": "nodekeep:default" }')
  const options = ['--config', file, '--data', join(folder, 'data')]
  const printed = await consumer.run(nodekeep, 'plugins', 'add', tarball, '--yes', ...options)
  t.match(printed, 'route GET /threaded/word: for signed-in users')
  t.match(JSON.parse(await readFile(file, 'utf8')), {
    extends: 'nodekeep:default',
    plugins: { threaded: { from: /^\.\/data\/added-plugins\/threaded/, required: false } },
  })
  t.match(await consumer.run(nodekeep, 'config', 'check', ...options), 'is valid')
})

/** Returns the address that a node prints when it listens. */
function addressOf({ stdout, stderr }: Program): Promise<string> {
  let printed = ''
  return new Promise((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
        if (address) resolve(address)
      })
    }
    stdout.on('close', () => reject(new Error(`The node ended before it said where it listens:\n${printed}`)))
  })
}
