import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { createServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { createTestNode, setClock } from '@nodekeep/kernel/testing'
import { Wallet } from 'ethers'
import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { createAuthority } from '../overlay/fixtures/authority.ts'
import { needsChromium, startChromium } from './chromium.ts'

const browser = needsChromium ? null : await startChromium(t)

/** The modules that the page imports by a name. */
const modules = [
  '@nodekeep/login-siwe/client',
  '@nodekeep/plugin-sdk/wallet',
  '@noble/curves/secp256k1.js',
  '@noble/hashes/hmac.js',
  '@noble/hashes/sha2.js',
  '@noble/hashes/sha3.js',
  '@noble/hashes/utils.js',
]
const imports = Object.fromEntries(
  modules.map((name) => [name, `/modules${fileURLToPath(import.meta.resolve(name))}`]),
)

/** A page that signs in as the README of `login-siwe` shows. The test stands for the wallet. */
const page = (address: string) => `<!doctype html>
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">
  import { siweCredentials } from '@nodekeep/login-siwe/client'

  const answer = await (await fetch('/auth/siwe/nonce')).json()
  const credentials = await siweCredentials(answer, '${address}', (message) => signByWallet(message))
  await fetch('/auth/siwe', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(credentials),
  })
  window.who = await (await fetch('/whoami')).json()
</script>`

async function answerModule(route: Route): Promise<void> {
  const file = new URL(route.request().url()).pathname.replace('/modules', '')
  const source = await readFile(file, 'utf8')
  const body = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source
  await route.fulfill({ contentType: 'text/javascript', body })
}

/** Starts a node whose owner is a wallet. */
async function startNode(t: Test, owner: string, publicUrl: readonly string[] = []) {
  const node = await createTestNode({
    folder: import.meta.dirname,
    config: { auth: { owner }, plugins: { 'login-siwe': true }, server: { publicUrl } },
  })
  t.teardown(() => node.stop())
  return node
}

/** Opens a page that signs in with a wallet at each node that it visits. */
async function openTab(t: Test, wallet: { address: string; signMessage(text: string): Promise<string> }) {
  if (browser === null) throw new Error('Chromium is missing.')
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  t.teardown(() => context.close())
  const tab = await context.newPage()
  await tab.exposeFunction('signByWallet', (message: string) => wallet.signMessage(message))
  await tab.route('**/modules/**', answerModule)
  const address = wallet.address.toLowerCase()
  await tab.route('**/sign-in-page', (route) =>
    route.fulfill({ contentType: 'text/html', body: page(address) }),
  )
  const faults: string[] = []
  tab.on('pageerror', ({ message }) => faults.push(message))
  tab.on('console', (line) => line.type() === 'error' && faults.push(line.text()))
  return { tab, context, faults }
}

/** Returns the wallet that the page saw after its sign-in. */
async function signIn(tab: Page, url: URL): Promise<unknown> {
  await tab.goto(new URL('/sign-in-page', url).href)
  const found = await tab.waitForFunction('window.who', null, { timeout: 60_000 }).catch(() => null)
  return found?.jsonValue()
}

/** Returns the wallet that is signed in, as the browser asks for it. */
async function whoIsAt(tab: Page, url: URL): Promise<string | undefined> {
  await tab.goto(new URL('/whoami', url).href)
  const { user } = JSON.parse((await tab.textContent('pre')) ?? '') as { user: { wallet?: string } }
  return user.wallet
}

async function signOut(tab: Page, url: URL): Promise<void> {
  await tab.goto(new URL('/whoami', url).href)
  await tab.evaluate("fetch('/auth/logout', { method: 'POST' })")
}

t.test('a page signs in with the client of login-siwe', { skip: needsChromium }, async (t) => {
  const wallet = Wallet.createRandom()
  const node = await startNode(t, wallet.address)
  const { tab, faults } = await openTab(t, wallet)
  t.teardown(() => setClock(null))
  for (const clock of [null, new Date('1970-01-01T00:01:00Z')]) {
    setClock(clock)
    const what = `the clock of the node is ${clock === null ? 'right' : 'that of a machine that starts'}`
    t.match(await signIn(tab, node.url), { user: { wallet: wallet.address } }, [what, ...faults].join('\n'))
    await tab.context().clearCookies()
  }
})

t.test('a browser is signed in at two nodes of one host', { skip: needsChromium }, async (t) => {
  const wallet = Wallet.createRandom()
  const [one, two] = [await startNode(t, wallet.address), await startNode(t, wallet.address)]
  const { tab, context, faults } = await openTab(t, wallet)
  await signIn(tab, one.url)
  await signIn(tab, two.url)
  t.equal(await whoIsAt(tab, one.url), wallet.address, faults.join('\n'))
  t.equal(await whoIsAt(tab, two.url), wallet.address)
  await signOut(tab, two.url)
  t.equal(await whoIsAt(tab, two.url), undefined)
  t.equal(await whoIsAt(tab, one.url), wallet.address, 'a sign-out at one node is none at the other')
  await signIn(tab, two.url)
  await signOut(tab, one.url)
  t.equal(await whoIsAt(tab, one.url), undefined)
  t.equal(await whoIsAt(tab, two.url), wallet.address)
  await signOut(tab, two.url)
  t.strictSame(await context.cookies(), [], 'no cookie is left')
})

t.test('a browser is signed in at a node by http and by https', { skip: needsChromium }, async (t) => {
  const wallet = Wallet.createRandom()
  const { cert, key } = await (await createAuthority()).issue({ names: ['localhost'] })
  const proxy = createServer({ cert, key }, (client) => {
    const upstream = connect(Number(node.url.port), node.url.hostname)
    pipeline(client, upstream, client, () => {})
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  const encrypted = new URL(`https://localhost:${(proxy.address() as AddressInfo).port}`)
  const node = await startNode(t, wallet.address, [encrypted.origin])
  const plain = new URL(`http://localhost:${node.url.port}`)
  const { tab, context, faults } = await openTab(t, wallet)
  await signIn(tab, encrypted)
  const [own] = (await context.cookies()).filter(({ name }) => name !== 'session')
  t.match(own, { name: /^__Host-session-/, secure: true, httpOnly: true, sameSite: 'Lax', path: '/' })
  await signIn(tab, plain)
  for (const url of [encrypted, plain]) {
    t.equal(await whoIsAt(tab, url), wallet.address, `${url} ${faults.join('\n')}`)
  }
  await signOut(tab, encrypted)
  t.equal(await whoIsAt(tab, encrypted), undefined)
  t.strictSame(await context.cookies(), [], 'no cookie is left')
})
