import { once } from 'node:events'
import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { type Program, root, startProgram } from '../run/command.ts'
import { checkInstalls } from '../walls/installs.ts'
import { wat } from '../wasm/wat.ts'
import { installConsumer } from './consumer.ts'
import { packedForTest } from './pack.ts'

const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
/** Its SDK is one of the libraries that a published package carries inside. */
const program = `(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start") (call $exit (i32.const 7))))`

const folder = await mkdtemp(join(tmpdir(), 'nodekeep-tarballs-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const consumer = await installConsumer(await packedForTest(folder))
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

t.test('source maps lead to the sources that are published', async (t) => {
  const scope = join(consumer.folder, 'node_modules/@nodekeep')
  let count = 0
  for (const path of await readdir(scope, { recursive: true })) {
    if (!/^[^/]+\/dist\/(?!vendor\/).*\.map$/.test(path)) continue
    const file = join(scope, path)
    const { sources } = JSON.parse(await readFile(file, 'utf8')) as { sources: string[] }
    for (const source of sources) {
      const found = join(dirname(file), source)
      const [name = ''] = path.split('/')
      if (!found.startsWith(join(scope, name, 'src'))) t.fail(`${path} leads to ${source}`)
      await access(found)
    }
    count += 1
  }
  t.ok(count > 100)
})

t.test('the command of the kernel is there and knows its version', async (t) => {
  const manifest = JSON.parse(await readFile(join(root, 'kernel/package.json'), 'utf8'))
  t.match(await consumer.run('npx', 'nodekeep', '--version'), manifest.version)
})

t.test('a node starts from the packages, runs programs, and stops', async (t) => {
  const data = join(consumer.folder, 'data')
  const node = startProgram(
    join(consumer.folder, 'node_modules/.bin/nodekeep'),
    ['start', '--port', '0', '--data', data],
    { cwd: consumer.folder, env: consumer.env },
  )
  t.teardown(() => node.kill('SIGKILL'))
  const ended = once(node, 'exit')
  const address = await addressOf(node)
  const health = await fetch(new URL('/health', address))
  t.equal(health.status, 200)
  t.match(await health.json(), { status: 'ok' })

  const printed = await consumer.run(
    'npx',
    'nodekeep',
    'session',
    'create',
    '--data',
    data,
    '--wallet',
    wallet,
  )
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

/** The address that a node prints when it listens. */
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
