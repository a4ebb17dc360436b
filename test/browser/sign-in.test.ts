import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import { createTestNode, setClock } from '@nodekeep/kernel/testing'
import { Wallet } from 'ethers'
import type { Route } from 'playwright-core'
import t from 'tap'
import { needsChromium, startChromium } from './chromium.ts'

t.setTimeout(300_000)

/** The modules that the page imports by a name. */
const modules = [
  '@nodekeep/login-siwe/client',
  '@nodekeep/plugin-sdk/wallet',
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

t.test('a page signs in with the client of login-siwe', { skip: needsChromium }, async (t) => {
  const wallet = Wallet.createRandom()
  const node = await createTestNode({
    folder: import.meta.dirname,
    config: { auth: { owner: wallet.address }, plugins: { 'login-siwe': true } },
  })
  t.teardown(() => node.stop())
  const tab = await (await startChromium(t)).newPage()
  await tab.exposeFunction('signByWallet', (message: string) => wallet.signMessage(message))
  await tab.route('**/modules/**', answerModule)
  const address = wallet.address.toLowerCase()
  await tab.route('**/sign-in-page', (route) =>
    route.fulfill({ contentType: 'text/html', body: page(address) }),
  )
  const faults: string[] = []
  tab.on('pageerror', ({ message }) => faults.push(message))
  tab.on('console', (line) => line.type() === 'error' && faults.push(line.text()))
  t.teardown(() => setClock(null))
  for (const clock of [null, new Date('1970-01-01T00:01:00Z')]) {
    setClock(clock)
    await tab.goto(new URL('/sign-in-page', node.url).href)
    const found = await tab.waitForFunction('window.who', null, { timeout: 60_000 }).catch(() => null)
    const what = `the clock of the node is ${clock === null ? 'right' : 'that of a machine that starts'}`
    t.match(await found?.jsonValue(), { user: { wallet: wallet.address } }, [what, ...faults].join('\n'))
    await tab.context().clearCookies()
  }
})
