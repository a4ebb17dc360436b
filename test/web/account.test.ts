import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { Wallet } from 'ethers'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import encodeQR from 'qr'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { hasFocus, untilTrue } from '../browser/until-true.ts'
import { startClaimableNode } from './claimable-node.ts'
import { chooseInPersonMenu } from './fixtures/frame.ts'
import { startTalkingModel } from './fixtures/talking-model.ts'
import { workThrough } from './fixtures/work-through.ts'

// One at a time: the tabs of a browser share its clipboard.
t.jobs = 1

const phone = { width: 360, height: 740 }
const script = '<img src=x onerror="window.__xss = true">'
const password = 'ten or more letters'
const changed = 'another ten letters'

interface Tab {
  readonly page: Page
  /** Tests that no script of a text has run, and that nothing is wider than the window. Then it closes the tab. */
  end(): Promise<void>
}

/** Opens a page in a context of its own, which has a storage of its own. */
async function openTab(t: Test, browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
  const permissions = ['clipboard-read', 'clipboard-write']
  const context = await browser.newContext({ acceptDownloads: true, permissions, ...options })
  // Long, since other tests may use both processors.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (line) => {
    if (/Content.Security.Policy|Trusted/i.test(line.text())) faults.push(line.text())
  })
  return {
    page,
    async end() {
      t.strictSame(faults, [])
      t.equal(await page.evaluate('window.__xss'), undefined)
      t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0)
      await context.close()
    },
  }
}

let browser: ReturnType<typeof startChromium> | undefined

/** The browser finds the node by a name of a network. Pages at such an address have no WebCrypto and no clipboard. */
function startBrowser(): Promise<Browser> {
  browser ??= startChromium(t, '--host-resolver-rules=MAP nas.test 127.0.0.1')
  return browser
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function typePassword(page: Page, text: string): Promise<void> {
  await page.getByLabel('Password', { exact: true }).first().fill(text)
  await press(page, 'Sign in')
}

/** Returns what the button at the address has copied. */
async function copyAddress(page: Page): Promise<unknown> {
  await press(page, 'Copy the address')
  await page.locator('.address').getByText('Copied.').waitFor()
  return page.evaluate('navigator.clipboard.readText()')
}

async function openAccount(page: Page): Promise<void> {
  await chooseInPersonMenu(page, 'Account')
  await page.getByRole('heading', { name: 'API tokens' }).waitFor()
}

async function whoIsSignedIn(page: Page): Promise<{ uuid: string; wallet: string; username: string }> {
  await page.getByRole('button', { name: /^Menu of / }).waitFor()
  return page.evaluate("fetch('/whoami').then((answer) => answer.json()).then(({ user }) => user)")
}

t.test('an account without a wallet', { skip: needsChromium }, async (t) => {
  const folder = t.testdir({ data: {} })
  const { baseURL, nextTalk } = await startTalkingModel(t)
  const node = await startClaimableNode(t, join(folder, 'data'), '0', {
    NODEKEEP_AI_OPENAI__BASE_URL: baseURL,
    NODEKEEP_SERVER__HOSTNAMES: '["nas.test"]',
  })
  const browser = await startBrowser()
  const home = node.url.origin
  const elsewhere = `http://nas.test:${node.url.port}`
  const keyFile = join(folder, 'wallet.key')
  let owner = ''
  const { page: desk, end } = await openTab(t, browser)

  await t.test('a key of the browser claims the node, and signs in again with its password', async (t) => {
    const page = desk
    await page.addInitScript(`
      const { persist } = StorageManager.prototype
      StorageManager.prototype.persist = function () {
        window.isAskedToPersist = true
        return persist.call(this)
      }
    `)
    await page.goto(/\S+#claim=\S+/.exec(node.banner)?.[0] ?? '')
    await page.getByRole('heading', { name: 'Welcome to your new node' }).waitFor()
    t.equal(await page.locator('.main').count(), 1, 'there is one main button')
    t.equal(await page.getByLabel('Claim code').count(), 0, 'the code of the link is enough')
    t.equal(
      await page.getByRole('button', { name: 'I have a wallet' }).count(),
      0,
      'a browser without a wallet has no such way',
    )
    await page.getByLabel('Your name').fill('Bo')
    await page.getByLabel('New password').fill(password)
    await page.getByLabel('Repeat the password').fill(`${password}?`)
    await press(page, 'Create my account')
    await page.getByText('The two passwords differ.').waitFor()
    await page.getByText('A name has 3 to 30 letters').waitFor()
    t.equal(await page.getByLabel('Your name').getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Your name').fill('Zoë L')
    await page.getByText('On this node, the name is "zoe-l".').waitFor()
    await page.getByLabel('Repeat the password').fill(password)
    await press(page, 'Create my account')
    await page.getByRole('heading', { name: 'Keep a copy of your key' }).waitFor()
    t.equal(await page.getByLabel('Your key').count(), 0, 'the key is hidden')
    t.equal(await page.getByRole('button', { name: 'Copy', exact: true }).count(), 0)
    const shownAddress = await copyAddress(page)
    await press(page, 'Show')
    const key = await page.getByLabel('Your key').inputValue()
    const { address } = new Wallet(key)
    t.equal(shownAddress, address, 'the address has a button of its own')
    await press(page, 'Copy')
    await page.locator('.secret').getByText('Copied.').waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), key)
    const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Save as a file')])
    await download.saveAs(keyFile)
    // `nodekeep-sync login --key` reads the file like this.
    const wallet = new Wallet((await readFile(keyFile, 'utf8')).trim())
    t.equal(wallet.privateKey, key)
    t.equal(await page.evaluate('window.isAskedToPersist'), true, 'the browser is asked to keep the key')
    await press(page, 'I have stored it. Sign in')
    const user = await whoIsSignedIn(page)
    owner = user.uuid
    t.equal(user.wallet, wallet.address)
    t.equal(user.username, 'zoe-l', 'nobody has seen the address as a name')
    const storage = String(await page.evaluate('JSON.stringify(localStorage)'))
    t.match(storage, wallet.address)
    t.notOk(storage.includes(key.slice(2)), 'the browser keeps the key encrypted')

    const steps = page.getByRole('region', { name: 'Things to try' })
    await steps.getByRole('link', { name: 'See your photos' }).waitFor()
    t.equal(await steps.getByRole('link').count(), 3)
    for (const name of ['Open it on your phone', 'Let your family in'])
      t.equal(await steps.getByRole('link', { name }).count(), 0, 'no other device reaches the node yet')
    await steps.getByRole('link', { name: 'Reach it from your phone' }).click()
    await untilTrue(page, "location.hash === '#/node/overlay'")
    await page.getByText('"hostnames": ["192.168.1.20"]').waitFor()
    await page.getByText(`http://192.168.1.20:${node.url.port}`).waitFor()
    await steps.waitFor({ state: 'detached' })
    await page.evaluate("location.hash = '#/'")
    await steps.getByRole('link', { name: 'Make a first backup' }).waitFor()
    await page.evaluate("location.hash = '#/files?search=sea'")
    await steps.waitFor({ state: 'detached' })
    await page.evaluate("location.hash = '#/'")
    await steps.waitFor()
    t.equal(await steps.getByRole('link').count(), 2, 'what was tried is gone')
    const create = "fetch('/api/backup/create', { method: 'POST' }).then((answer) => answer.json())"
    const { filename } = (await page.evaluate(create)) as { filename: string }
    await page.evaluate("location.hash = '#/node'")
    await steps.waitFor({ state: 'detached' })
    await page.evaluate("location.hash = '#/'")
    await steps.waitFor()
    await steps.getByRole('link', { name: 'Make a first backup' }).waitFor({ state: 'detached' })
    await page.evaluate(`fetch('/api/backup/${filename}', { method: 'DELETE' })`)
    await press(page, 'Do not show this again')
    await steps.waitFor({ state: 'detached' })

    await chooseInPersonMenu(page, 'Sign out')
    await page.getByText(wallet.address).waitFor()
    await page.reload()
    await typePassword(page, 'a wrong password')
    await page.getByText('The password is wrong.').waitFor()
    await typePassword(page, password)
    t.equal((await whoIsSignedIn(page)).uuid, owner)
    // The page that has them is shown.
    await page.getByRole('button', { name: 'New', exact: true }).waitFor()
    t.equal(await steps.count(), 0, 'they are gone for good')
    await openAccount(page)
    t.equal(await page.getByText(address).count(), 1, 'the address is there once')
    t.equal(await copyAddress(page), address)
    await page.getByText('Copy the key', { exact: true }).click()
    await page.getByLabel('Password', { exact: true }).fill(password)
    await press(page, 'Show the key')
    t.equal(await page.getByLabel('Your key').inputValue(), key)
  })

  await t.test('the password of the key changes, and the key stays', async (t) => {
    const page = desk
    const sealed = () => page.evaluate("JSON.parse(localStorage.getItem('nodekeep.key'))")
    const before = await sealed()
    await page.getByText('Change the password', { exact: true }).click()
    const change = async (present: string, next: string, repeated = next) => {
      await page.getByLabel('Present password').fill(present)
      await page.getByLabel('New password').fill(next)
      await page.getByLabel('Repeat the password').fill(repeated)
      await press(page, 'Set the new password')
    }
    await change(password, 'short')
    t.equal(await page.getByLabel('New password').getAttribute('aria-invalid'), 'true')
    await change(password, changed, `${changed}?`)
    await page.getByText('The two passwords differ.').waitFor()
    await change('a wrong password', changed)
    await page.getByText('The password is wrong.').waitFor()
    t.equal(await page.getByLabel('Present password').getAttribute('aria-invalid'), 'true')
    t.strictSame(await sealed(), before, 'nothing has changed')
    await change(password, changed)
    await page.getByText('The new password holds from now on').waitFor()
    const { address, sealed: bytes, salt } = Object(await sealed())
    t.equal(address, Object(before).address)
    t.not(bytes, Object(before).sealed)
    t.not(salt, Object(before).salt)

    await chooseInPersonMenu(page, 'Sign out')
    await typePassword(page, password)
    await page.getByText('The password is wrong.').waitFor()
    await typePassword(page, changed)
    t.equal((await whoIsSignedIn(page)).uuid, owner)
    await openAccount(page)
  })

  await t.test('the key is imported at another origin, on a phone, and each page works there', async (t) => {
    const { page, end } = await openTab(t, browser, { viewport: phone })
    await page.goto(elsewhere)
    await page.getByText('Here, use a sign-in code, which you make there, or your copy of the key.').waitFor()
    await press(page, 'I have a copy of my key')
    await page.getByLabel('Private key').fill('0x1234')
    await page.getByLabel('New password').fill(password)
    await page.getByLabel('Repeat the password').fill(password)
    await press(page, 'Sign in with this key')
    await page.getByText('A private key has 64 hexadecimal digits').waitFor()
    await page.getByLabel('Or a file with it').setInputFiles(keyFile)
    await untilTrue(page, "document.querySelector('input[name=key]').value !== '0x1234'")
    await press(page, 'Sign in with this key')
    t.equal((await whoIsSignedIn(page)).uuid, owner)
    await workThrough(t, page, nextTalk)

    await chooseInPersonMenu(page, 'Sign out')
    await page.getByText('Copy or forget this key').click()
    await page.getByText('Forget the key', { exact: true }).click()
    await press(page, 'Forget it now')
    await page.getByRole('button', { name: 'I am new here' }).waitFor()
    // Only the settings of the lists of files stay: they tell nothing about the person.
    t.strictSame(await page.evaluate('Object.keys(localStorage)'), ['files-view'])
    await untilTrue(page, "document.activeElement.id === 'content'")
    await end()
  })

  await t.test('a code signs in once at another origin, and its session can be ended', async (t) => {
    const page = desk
    // The clock of the device is a day ahead of the node's.
    await page.evaluate('Date.now = ((now) => () => now() + 86_400_000)(Date.now)')
    await press(page, 'Make a sign-in code')
    const code = await page.getByLabel('Your sign-in code').inputValue()
    await page.evaluate(
      `navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))
      document.execCommand = () => false`,
    )
    await page.locator('.made').getByRole('button', { name: 'Copy', exact: true }).click()
    await page.getByText('The text is selected.').waitFor()
    t.equal(await page.locator('.qr').count(), 0, 'no other device reaches the node at this address')
    const how = page.getByRole('link', { name: 'How others can reach it' })
    t.equal(await how.getAttribute('href'), '#/node/overlay')

    const { page: other, end } = await openTab(t, browser, { viewport: phone, userAgent: script })
    await other.goto(elsewhere)
    const enter = async () => {
      await other.getByText('I have a sign-in code').click()
      await other.getByLabel('Sign-in code').fill(code.toLowerCase())
      await press(other, 'Sign in with this code')
    }
    await enter()
    t.equal((await whoIsSignedIn(other)).uuid, owner)
    await chooseInPersonMenu(other, 'Sign out')
    await enter()
    await other.getByText('The code is wrong, used or too old.').waitFor()

    await press(page, 'Make a sign-in code')
    const shown = () => page.getByLabel('Your sign-in code').inputValue()
    while ((await shown()) === code) await delay(20)
    await other.getByLabel('Sign-in code').fill(await shown())
    await press(other, 'Sign in with this code')
    await openAccount(other)

    await press(other, 'Make a sign-in code')
    const scanned = await other.getByLabel('Your sign-in code').inputValue()
    const link = `${elsewhere}/#code=${scanned}`
    const dark = encodeQR(link, 'raw', { border: 4 }).flatMap((row, y) =>
      row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')),
    )
    await other.getByRole('img', { name: 'The address of this node with the code' }).waitFor()
    t.equal(await other.locator('.qr path').getAttribute('d'), dark.join(''))
    const { page: third, end: endThird } = await openTab(t, browser, { viewport: phone })
    await third.goto(link)
    t.equal(await third.getByLabel('Sign-in code').inputValue(), scanned)
    await press(third, 'Sign in with this code')
    t.equal((await whoIsSignedIn(third)).uuid, owner)
    t.notMatch(third.url(), scanned)
    await third.goto(`${elsewhere}/#/node`)
    await third.getByRole('region', { name: 'From outside' }).getByText('Only at home').waitFor()
    await chooseInPersonMenu(third, 'Sign out')
    await third.getByRole('heading', { name: 'Sign in' }).waitFor()
    await endThird()

    await other.getByText('Let a program in').click()
    await other.getByLabel('Name of the program').fill('kept')

    await page.reload()
    await press(page, `End: ${script}`)
    await page.getByRole('button', { name: `End: ${script}` }).waitFor({ state: 'detached' })
    await hasFocus(page, 'Where you are signed in')
    await press(other, 'Make a sign-in code')
    await other.getByRole('heading', { name: 'Sign in again' }).waitFor()
    t.equal(await other.getByLabel('Name of the program').inputValue(), 'kept')
    await end()
  })

  await t.test('a person changes their name', async (t) => {
    const page = desk
    // A browser does not send such a name.
    const refused = `fetch('/api/account', { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ username: ${JSON.stringify(script)} }) }).then(({ status }) => status)`
    t.equal(await page.evaluate(refused), 400)
    const add = `fetch('/api/users', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ wallet: '0x${'ab'.repeat(20)}', username: 'grace' }) }).then(({ ok }) => ok)`
    t.ok(await page.evaluate(add))
    await page.getByLabel('Your name').fill('grace')
    await press(page, 'Change the name')
    await page.getByRole('alert').getByText('The username "grace" is taken.').waitFor()
    t.equal(await page.getByLabel('Your name').inputValue(), 'grace')
    await page.getByLabel('Your name').fill('Ada L')
    await press(page, 'Change the name')
    await page.getByRole('heading', { name: 'ada-l' }).waitFor()
    await page.getByRole('button', { name: 'Menu of ada-l' }).waitFor()
  })

  await t.test('a person whom the owner has not let in asks, and is let in by one click', async (t) => {
    const { page, end } = await openTab(t, browser, { viewport: phone })
    await page.goto(new URL('#claim=AS0F-008T-HPW7', home).href)
    await press(page, 'I am new here')
    await page.getByRole('heading', { name: 'Create an account' }).waitFor()
    await untilTrue(page, "document.title === 'Create an account · Nodekeep'")
    t.equal(await page.getByLabel('Claim code').count(), 0, 'the node has an owner')
    await page.getByLabel('Your name').fill('Grace')
    await page.getByLabel('New password').fill(password)
    await page.getByLabel('Repeat the password').fill(password)
    await press(page, 'Create my account')
    await press(page, 'I have stored it. Sign in')
    await page.getByRole('heading', { name: 'Ask the owner to let you in' }).waitFor()
    t.equal(await page.getByLabel('Your name').inputValue(), 'grace')
    await press(page, 'Ask the owner')
    await page.getByRole('heading', { name: 'The owner has your request' }).waitFor()
    const address = await copyAddress(page)
    await press(page, 'Sign in')
    await page.getByText('The owner has not let you in yet.').waitFor()

    await desk.goto(new URL('#/node/users', home).href)
    const asked = desk.getByRole('list', { name: 'People who ask to be let in' }).getByRole('listitem')
    await asked.getByText(String(address)).waitFor()
    await press(desk, 'Let in: grace')
    const dialog = desk.getByRole('dialog')
    await dialog.getByText('The username "grace" is taken.').waitFor()
    await dialog.getByLabel('Name').fill('Grace H')
    await dialog.getByRole('button', { name: 'Let in' }).click()
    await desk.getByText('grace-h may sign in now.').waitFor()
    await asked.waitFor({ state: 'detached' })
    await press(page, 'Sign in')
    t.match(await whoIsSignedIn(page), { wallet: address, username: 'grace-h' })
    const steps = page.getByRole('region', { name: 'Things to try' })
    await steps.getByRole('link', { name: 'See your photos' }).waitFor()
    // The node has told its models.
    await steps.getByRole('link', { name: 'Ask a model' }).waitFor()
    t.equal(await steps.getByRole('link', { name: 'Make a first backup' }).count(), 0, 'only the owner can')
    await page.clock.setSystemTime(Date.now() + 8 * 86_400_000)
    await page.reload()
    await page.getByRole('button', { name: 'New', exact: true }).waitFor()
    t.equal(await steps.count(), 0, 'after a week, the room is that of the files')
    await end()
    await openAccount(desk)
  })

  await t.test(
    'an app is connected with a password that opens the files by WebDAV, and nothing else',
    async (t) => {
      const page = desk
      for (const place of ['account', 'node/devices']) {
        await page.goto(new URL(`#/${place}`, home).href)
        await page.getByRole('link', { name: 'Connect a file manager or an app by WebDAV' }).click()
        await page.getByRole('heading', { name: 'Connect an app' }).waitFor()
      }
      await page.getByText(`${home}/dav/`, { exact: true }).waitFor()
      const note = page.locator('.reach').filter({ hasText: 'leads only this computer to the node' })
      await note.getByRole('link', { name: 'How others can reach it' }).waitFor()
      t.equal(await page.locator('.qr').count(), 0, 'no phone reaches the node at this address')
      await page.getByLabel('Name of the app').fill(script)
      await press(page, 'Make a password')
      const token = await page.getByLabel('The password of the app').inputValue()
      t.equal(await page.getByLabel('Name of the app').inputValue(), '')
      await page.getByText('Linux: GNOME, KDE').click()
      await page.getByText(`dav://${node.url.host}/dav/`, { exact: true }).waitFor()
      const ask = async (path: string, authorization: string, method = 'GET') =>
        (await fetch(new URL(path, home), { method, headers: { authorization } })).status
      const basic = `Basic ${Buffer.from(`ada-l:${token}`).toString('base64')}`
      t.equal(await ask('/dav/', basic, 'OPTIONS'), 200)
      t.equal(await ask('/dav/', basic.slice(0, -8), 'OPTIONS'), 401)
      t.equal(await ask('/readdir?path=/', basic), 401)
      t.equal(await ask('/readdir?path=/', `Bearer ${token}`), 403)

      // A session of this tab at the other address of the node, which other devices reach.
      const made = await page.evaluate(
        "fetch('/api/account/sign-in-codes', { method: 'POST' }).then((answer) => answer.json()).then(({ code }) => code)",
      )
      const { page: other, end } = await openTab(t, browser, { viewport: phone })
      await other.goto(`${elsewhere}/#code=${made}`)
      await press(other, 'Sign in with this code')
      await chooseInPersonMenu(other, 'Connect an app')
      await other.getByRole('img', { name: 'The address of this page' }).waitFor()
      await other.getByText('This address is not encrypted').waitFor()
      const dark = encodeQR(`${elsewhere}/#/connect-app`, 'raw', { border: 4 }).flatMap((row, y) =>
        row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')),
      )
      t.equal(await other.locator('.qr path').getAttribute('d'), dark.join(''))
      await other.goto(`${elsewhere}/#/node/overlay`)
      await other.getByRole('heading', { name: 'On your phone and other devices' }).waitFor()
      await other.getByText(elsewhere, { exact: true }).waitFor()
      await end()

      await openAccount(page)
      await press(page, `Revoke: ${script}`)
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
      await page.getByText('No program has a token.').waitFor()
      t.equal(await ask('/dav/', basic, 'OPTIONS'), 401)
    },
  )

  await t.test('an API token is shown once, works until it is revoked, and survives a sign-in', async (t) => {
    const page = desk
    await page.setViewportSize(phone)
    await page.getByText('Let a program in').click()
    await page.getByLabel('Name of the program').fill(script)
    await press(page, 'Make a token')
    await page.getByText('Choose at least one.').waitFor()
    await page.getByLabel('files:read').check()
    await page.getByLabel('Expires').selectOption('never')
    // The session ends in the middle of work.
    await page.context().clearCookies()
    await press(page, 'Make a token')
    await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Password', { exact: true }).first().fill(changed)
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
    const token = await page.getByLabel('Your token').inputValue()
    await page.getByText(/^Not used yet, made .*, does not expire$/).waitFor()
    const status = async (path: string) =>
      (await fetch(new URL(path, home), { headers: { authorization: `Bearer ${token}` } })).status
    t.equal(await status('/readdir?path=/'), 200)
    t.equal(await status('/api/account/tokens'), 403)
    await page.reload()
    await page.getByText(/^Last used .*, does not expire$/).waitFor()
    await press(page, `Revoke: ${script}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No program has a token.').waitFor()
    t.equal(await status('/readdir?path=/'), 401)

    const body = JSON.stringify({ name: 'sync of vm', scopes: ['files:read'], expiryDays: null })
    const made = `fetch('/api/account/tokens', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(body)} }).then(({ ok }) => ok)`
    for (let count = 0; count < 3; count += 1) t.ok(await page.evaluate(made))
    await page.reload()
    await page.getByText('2 more of this name').click()
    await press(page, 'Revoke these 2')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('2 more of this name').waitFor({ state: 'detached' })
    const left =
      "fetch('/api/account/tokens').then((answer) => answer.json()).then(({ tokens }) => tokens.length)"
    t.equal(await page.evaluate(left), 1)
  })

  await end()
})

t.test('a key is made at a plain-HTTP name of a network', { skip: needsChromium }, async (t) => {
  const browser = await startBrowser()
  const plugins = { 'login-siwe': true, web: true }
  const config = { plugins, server: { hostnames: ['nas.test'] }, auth: { admission: 'owner' } }
  const other = await createTestNode({ config, folder: import.meta.dirname })
  t.teardown(() => other.stop())
  const owner = await other.signIn('owner')
  const { page, end } = await openTab(t, browser, { viewport: phone })
  await page.goto(`http://nas.test:${other.url.port}`)
  t.strictSame(await page.evaluate('[isSecureContext, crypto.subtle === undefined]'), [false, true])
  await press(page, 'I am new here')
  await page.getByLabel('Your name').fill('Papa')
  await page.getByLabel('New password').fill(password)
  await page.getByLabel('Repeat the password').fill(password)
  await press(page, 'Create my account')
  await press(page, 'Show')
  const { address } = new Wallet(await page.getByLabel('Your key').inputValue())
  t.equal(await page.getByText('I have a sign-in code').count(), 0, 'the provider is not loaded')
  await press(page, 'I have stored it. Sign in')
  await page.getByRole('heading', { name: 'Ask the owner to let you in' }).waitFor()
  await press(page, 'Copy the address')
  await page.getByText('Copied.').waitFor()
  // Here, a page cannot read the clipboard. A person pastes it into a field.
  await owner.fetch('/api/users', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ wallet: address }),
  })
  await press(page, 'Other ways to sign in')
  const field = page.getByLabel('Password', { exact: true }).first()
  await field.press('ControlOrMeta+V')
  // There is no clipboard, and it is copied.
  await untilTrue(page, `document.activeElement.value === '${address}'`)
  await typePassword(page, password)
  await page.getByRole('heading', { name: 'What is your name?' }).waitFor()
  await page.getByLabel('Your name').fill('Papa')
  await press(page, 'Continue')
  const user = await whoIsSignedIn(page)
  t.match(user, { wallet: address, username: 'papa' })
  const step = page.getByRole('link', { name: 'Open it on your phone' })
  t.equal(await step.count(), 0, 'it is a phone')
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.reload()
  await step.waitFor()
  await page.setViewportSize(phone)
  await openAccount(page)
  t.equal(await page.getByRole('button', { name: 'Make a sign-in code' }).count(), 0)
  await end()
})
