/**
 * `npm run walks [-- --files]`: counts the files of this repository in which a function runs while the node does one thing, its
 * worker threads, sandboxes and clients included. It is a measure of how many files a reader has to open to follow that thing.
 * `--files` lists them.
 */
import { watch } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { type NonceAnswer, siweCredentials } from '@nodekeep/login-siwe/client'
import { Command } from 'commander'
import { ethers } from 'ethers'
import { startClient } from '../bench/fixtures/sync-stand.ts'
import { root } from '../run/command.ts'
import { CallCounter, type Calls } from './coverage.ts'
import { countReports } from './reports.ts'
import { countSandboxes } from './sandboxes.ts'

/** A walk counts those functions that run each time in this many repetitions: timers run in some of them only. */
const repetitions = 8
/** Calls before the first one that counts, so that caches are filled and modules loaded. */
const warmUps = 20

/** Milliseconds after which both sides of a sync have looked at a change that has arrived. */
const syncedMs = 1000

const plugins = {
  'login-siwe': true,
  files: true,
  'storage-local': true,
  'file-sync': true,
  wasm: true,
  'wasm-native': true,
  backup: true,
}
/** A module with one function, `add(i32, i32) -> i32`. */
const add = 'AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags='

const { files: lists } = new Command('npm run walks --')
  .description('Count the source files that a request passes, in worker threads and clients, too.')
  .option('--files', 'list the files')
  .parse()
  .opts<{ files?: true }>()
const rows: string[][] = []
const sandboxes = await countSandboxes()
const reports = await countReports()
const counter = new CallCounter()
const node = await createTestNode({
  config: {
    plugins,
    auth: { signInsPerMinute: 10_000 },
    'login-siwe': { noncesPerMinute: 10_000 },
  },
})
const user = await node.signIn('owner')
await writeOldFile(user)
show('POST /auth/siwe', await signInWalk(node))
show('POST /api/wasm/execute', await walk(() => execute(user)))
show('GET /read of 1 KiB', await walk(() => read(user)))
show('PUT /write of 1 KiB', await walk(() => write(user)))
show('POST /api/backup/create', await backupWalk(user))
// A client would start as a sandbox.
await sandboxes.stop()
show('one sync change, A to B', await syncWalk(node, user))
await node.stop()
show('loading one more plugin', { node: await loadingWalk(), elsewhere: new Set() })
await reports.stop()
print()

/** Writes the file that is read, and makes it an hour old, since a file that has just changed may be read in another way. */
async function writeOldFile({ fetch, user: { uuid } }: TestUser): Promise<void> {
  await answered(await fetch('/write?path=/file', { method: 'PUT', body: new Uint8Array(1024) }))
  const hourAgo = Date.now() / 1000 - 3600
  await utimes(join(node.dataFolder, 'files', uuid, 'file'), hourAgo, hourAgo)
}

async function read({ fetch }: TestUser): Promise<void> {
  await answered(await fetch('/read?path=/file'))
}

async function write({ fetch }: TestUser): Promise<void> {
  await answered(await fetch('/write?path=/written', { method: 'PUT', body: new Uint8Array(1024) }))
}

function backupWalk({ fetch }: TestUser): Promise<Walked> {
  let last: string | undefined
  return walk(
    async () => {
      const answer = await fetch('/api/backup/create', { method: 'POST' })
      last = (JSON.parse(await answered(answer)) as { filename: string }).filename
    },
    async () => {
      if (last !== undefined) await fetch(`/api/backup/${last}`, { method: 'DELETE' })
    },
  )
}

/** Two clients, as processes, keep a folder each. */
async function syncWalk({ url }: TestNode, { token }: TestUser): Promise<Walked> {
  const home = await mkdtemp(join(tmpdir(), 'nodekeep-walks-'))
  const [one = '', two = ''] = ['one', 'two'].map((name) => join(home, name))
  const clients = []
  try {
    for (const folder of [one, two]) {
      await mkdir(folder)
      const nodeArgs = ['--import', reports.preload]
      const client = startClient(home, { token, folder, url, nodeArgs })
      clients.push(client)
      await client.idle()
    }
    let count = 0
    const change = async () => {
      count += 1
      const text = `${count}`.padEnd(1024)
      await writeFile(join(one, 'changed'), text)
      await arrival(two, 'changed', text)
      await delay(syncedMs)
    }
    return await walk(change, async () => {}, 3)
  } finally {
    for (const client of clients) await client.stop()
    await rm(home, { recursive: true, force: true })
  }
}

/** Waits until a file of a folder has a text. */
async function arrival(folder: string, name: string, text: string): Promise<void> {
  const arrived = Promise.withResolvers<void>()
  const check = () =>
    void readFile(join(folder, name), 'utf8').then(
      (found) => found === text && arrived.resolve(),
      () => {},
    )
  using _watcher = disposing(watch(folder, check))
  check()
  await arrived.promise
}

function disposing(watcher: { close(): void }): Disposable {
  return { [Symbol.dispose]: () => watcher.close() }
}

async function execute({ fetch }: TestUser): Promise<void> {
  const body = JSON.stringify({ wasmBytes: add, function: 'add', args: [19, 23] })
  await answered(await fetch('/api/wasm/execute', post(body)))
}

async function signInWalk({ url }: TestNode): Promise<Walked> {
  const wallet = ethers.Wallet.createRandom()
  let credentials = ''
  return walk(
    async () => void (await answered(await fetch(new URL('/auth/siwe', url), post(credentials)))),
    async () => {
      const nonce = (await (await fetch(new URL('/auth/siwe/nonce', url))).json()) as NonceAnswer
      const proof = await siweCredentials(nonce, wallet.address, (message) => wallet.signMessage(message))
      credentials = JSON.stringify(proof)
    },
  )
}

/** Which files run more functions, or functions more often, at a start with two plugins than with one. */
async function loadingWalk(): Promise<Set<string>> {
  const from = fileURLToPath(new URL('fixtures/plugin', import.meta.url))
  const start = async (ids: readonly string[]): Promise<Calls> => {
    counter.take()
    const config = { plugins: Object.fromEntries(ids.map((id) => [id, { from }])) }
    const started = await createTestNode({ config })
    const calls = counter.take()
    await started.stop()
    return calls
  }
  await start(['one', 'two'])
  const walks: Set<string>[] = []
  for (let n = 0; n < repetitions; n += 1) {
    const [one, two] = [await start(['one']), await start(['one', 'two'])]
    walks.push(
      new Set([...two].filter(([name, count]) => count > (one.get(name) ?? 0)).map(([name]) => name)),
    )
  }
  return ownFiles(inAll(walks))
}

/** The files in which a function runs at each of several repetitions. */
interface Walked {
  /** In the main thread of the node. */
  readonly node: ReadonlySet<string>
  /** In worker threads, sandboxes and clients. */
  readonly elsewhere: ReadonlySet<string>
}

async function walk(
  step: () => Promise<void>,
  prepare = async (): Promise<void> => {},
  before = warmUps,
): Promise<Walked> {
  for (let n = 0; n < before; n += 1) {
    await prepare()
    await step()
  }
  const [main, others]: Set<string>[][] = [[], []]
  for (let n = 0; n < repetitions; n += 1) {
    await prepare()
    await takeElsewhere()
    counter.take()
    await step()
    main?.push(new Set(counter.take().keys()))
    others?.push(await takeElsewhere())
  }
  return { node: ownFiles(inAll(main ?? [])), elsewhere: ownFiles(inAll(others ?? [])) }
}

/** The calls in worker threads and other processes since the last time. */
async function takeElsewhere(): Promise<Set<string>> {
  const ofSandboxes = await sandboxes.take()
  return new Set([...ofSandboxes.keys(), ...reports.take().keys()])
}

function inAll(walks: readonly Set<string>[]): Set<string> {
  return walks.reduce((common, next) => common.intersection(next))
}

/** The files of functions, without libraries, Node, tests and the plugin that is loaded. */
function ownFiles(functions: ReadonlySet<string>): Set<string> {
  const files = [...functions].map((name) => name.replace(/#.*$/s, ''))
  const paths = files
    .filter((url) => url.startsWith('file:'))
    .map((url) => relative(root, fileURLToPath(url)))
  return new Set(paths.filter((path) => /^(kernel|plugin-sdk|plugins\/[^/]+)\/src\/(?!testing\/)/.test(path)))
}

function post(body: string): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

async function answered(response: Response): Promise<string> {
  const text = await response.text()
  if (response.status !== 200) throw new Error(`The node answered with ${response.status}: ${text}`)
  return text
}

function show(name: string, { node, elsewhere }: Walked): void {
  const all = node.union(elsewhere)
  rows.push([name, `${all.size}`, `${node.size}`, `${elsewhere.size}`])
  if (!lists) return
  console.log(`${name}:`)
  for (const file of [...all].sort()) console.log(`  ${file}${node.has(file) ? '' : ' (elsewhere)'}`)
}

function print(): void {
  const lines = [['walk', 'files', 'node', 'threads and other processes'], ...rows]
  const width = Math.max(...lines.map(([name = '']) => name.length))
  for (const [name = '', ...counts] of lines)
    console.log([name.padEnd(width), ...counts.map((count) => count.padStart(5))].join('  '))
}
