/**
 * `npm run walks [-- --files]`: counts the files of this repository in which a function runs while the node does one thing.
 * It is a measure of how many files a reader has to open to follow that thing. `--files` lists them.
 */
import { utimes } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { type NonceAnswer, siweCredentials } from '@nodekeep/login-siwe/client'
import { ethers } from 'ethers'
import { root } from '../run/command.ts'
import { CallCounter, type Calls } from './coverage.ts'
import { countSandboxes } from './sandboxes.ts'

/** A walk counts those functions that run each time in this many repetitions: timers run in some of them only. */
const repetitions = 8
/** Calls before the first one that counts, so that caches are filled and modules loaded. */
const warmUps = 20

const plugins = { 'login-siwe': true, files: true, 'storage-local': true, wasm: true, 'wasm-native': true }
/** A module with one function, `add(i32, i32) -> i32`. */
const add = 'AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags='

const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } })
const sandboxes = await countSandboxes()
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
print('POST /auth/siwe', await signInWalk(node))
print('POST /api/wasm/execute', await walk(() => execute(user)))
print('GET /read of 1 KiB', await walk(() => read(user)))
await node.stop()
await sandboxes.stop()
print('loading one more plugin', await loadingWalk())

/** Writes the file that is read, and makes it an hour old, since a file that has just changed may be read in another way. */
async function writeOldFile({ fetch, user: { uuid } }: TestUser): Promise<void> {
  await answered(await fetch('/write?path=/file', { method: 'PUT', body: new Uint8Array(1024) }))
  const hourAgo = Date.now() / 1000 - 3600
  await utimes(join(node.dataFolder, 'files', uuid, 'file'), hourAgo, hourAgo)
}

async function read({ fetch }: TestUser): Promise<void> {
  await answered(await fetch('/read?path=/file'))
}

async function execute({ fetch }: TestUser): Promise<void> {
  const body = JSON.stringify({ wasmBytes: add, function: 'add', args: [19, 23] })
  await answered(await fetch('/api/wasm/execute', post(body)))
}

async function signInWalk({ url }: TestNode): Promise<Set<string>> {
  const wallet = ethers.Wallet.createRandom()
  let credentials = ''
  return walk(
    async () => answered(await fetch(new URL('/auth/siwe', url), post(credentials))),
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
async function walk(
  step: () => Promise<void>,
  prepare = async (): Promise<void> => {},
): Promise<Set<string>> {
  for (let n = 0; n < warmUps; n += 1) {
    await prepare()
    await step()
  }
  const walks: Set<string>[] = []
  for (let n = 0; n < repetitions; n += 1) {
    await prepare()
    counter.take()
    await sandboxes.take()
    await step()
    walks.push(new Set([...counter.take().keys(), ...(await sandboxes.take()).keys()]))
  }
  return ownFiles(inAll(walks))
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

async function answered(response: Response): Promise<void> {
  const text = await response.text()
  if (response.status !== 200) throw new Error(`The node answered with ${response.status}: ${text}`)
}

function print(name: string, files: ReadonlySet<string>): void {
  console.log(`${name}: ${files.size} files`)
  if (values.files) for (const file of [...files].sort()) console.log(`  ${file}`)
}
