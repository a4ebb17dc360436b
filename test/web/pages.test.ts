import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { startClaimableNode } from './claimable-node.ts'
import { chooseInPersonMenu, chooseNew } from './fixtures/frame.ts'
import { addWallet } from './wallet.ts'

/** Long, since other tests may use both processors. */
const timeout = 60_000
t.jobs = 3

const browser = needsChromium ? null : await startChromium(t)

interface Scene {
  readonly page: Page
  /** Errors of scripts, and what the Content-Security-Policy refused. */
  readonly faults: string[]
}

async function openTab(t: Test, withWallet: boolean): Promise<Scene> {
  if (browser === null) throw new Error('Chromium is missing.')
  const context = await browser.newContext({ acceptDownloads: true })
  t.teardown(() => context.close())
  context.setDefaultTimeout(timeout)
  if (withWallet) await addWallet(context)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (line) => {
    if (/Content.Security.Policy|Trusted/i.test(line.text())) faults.push(line.text())
  })
  return { page, faults }
}

const signIn = (page: Page) => page.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
/** Opens the way for a wallet on a node without an owner. */
const chooseWallet = (page: Page) => page.getByRole('button', { name: 'I have a wallet' }).click()
const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

t.test(
  'a person claims the node, works with files, and goes back to a backup',
  { skip: needsChromium },
  async (t) => {
    const folder = t.testdir({ data: {}, 'a.txt': 'first', 'b.txt': 'second', 'c.txt': 'third' })
    const data = join(folder, 'data')
    const node = await startClaimableNode(t, data, '0')
    const link = new RegExp(`${node.url.origin}/#claim=\\S+`).exec(node.banner)?.[0]
    if (link === undefined) return t.fail(node.banner)
    const { page, faults } = await openTab(t, true)

    await page.goto(`${link}X`)
    await chooseWallet(page)
    await signIn(page)
    await page.getByText('The claim code is wrong.').waitFor()
    const code = page.getByLabel('Claim code')
    t.equal(await code.getAttribute('aria-invalid'), 'true')
    await untilTrue(page, "document.activeElement.closest('label')?.textContent.trim() === 'Claim code'")
    await code.fill(link.slice(link.indexOf('=') + 1))
    await signIn(page)
    await page.getByLabel('Your name').fill('Papa')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('This folder is empty').waitFor()
    await page.getByRole('button', { name: 'Menu of papa' }).waitFor()
    t.equal(await page.title(), 'Files · Nodekeep')
    t.notMatch(page.url(), 'claim', 'the address has no claim code any more')
    t.equal(await page.evaluate('document.cookie'), '', 'no script can read the session')

    const chooser = page.locator('input[type=file]').first()
    await chooser.setInputFiles(['a.txt', 'b.txt', 'c.txt'].map((name) => join(folder, name)))
    await page.getByText('(3/3)').waitFor()
    await row(page, 'c.txt').waitFor()

    const rename = page.getByRole('dialog').getByRole('button', { name: 'Rename' })
    await row(page, 'a.txt').click()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByLabel('New name').fill('b.txt')
    await rename.click()
    await page.getByRole('dialog').getByText('There is something at "/b.txt" already.').waitFor()
    await page.getByLabel('New name').fill('<img src=x onerror=alert(1)> ä&?#%.txt')
    await rename.click()
    await row(page, '<img src=x').waitFor()

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    await download.saveAs(join(folder, 'saved'))
    t.match(download.suggestedFilename(), /ä&/)

    await writeFile(join(folder, 'b.txt'), 'changed')
    await chooser.setInputFiles(join(folder, 'b.txt'))
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
    await page.getByText('(4/4)').waitFor()

    await chooseNew(page, 'New folder')
    await page.getByLabel('Name of the folder').fill('2026 100%')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: '2026 100%' }).click()
    await page.getByText('This folder is empty').waitFor()
    await page.reload()
    await page.getByText('This folder is empty').waitFor()
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Files' }).click()

    await row(page, 'c.txt').click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await row(page, 'c.txt').waitFor({ state: 'detached' })

    await page.getByRole('link', { name: 'Node', exact: true }).click()
    await page
      .getByRole('navigation', { name: 'Parts of the node' })
      .getByRole('link', { name: 'Backups' })
      .click()
    await page.getByRole('button', { name: 'Back up now', exact: true }).click()
    await page.getByText(/The backup backup-\S+ is complete\./).waitFor()
    t.equal(
      await page.evaluate(
        "fetch('/mkdir', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{\"path\":\"/later\"}' }).then(({ status }) => status)",
      ),
      200,
    )
    await page.getByRole('button', { name: /^Restore: / }).click()
    const agree = page.getByRole('dialog').getByRole('button')
    await agree.getByText('Compare').click()
    await agree.getByText('Restore at the next start').click()
    await page
      .getByText(/The next start of the node restores backup-/)
      .first()
      .waitFor()
    await node.stop()
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByText('The node does not answer').waitFor()
    await startClaimableNode(t, data, node.url.port)
    // The page need not wait for its next attempt.
    await page.evaluate("dispatchEvent(new Event('online'))")
    await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
    await signIn(page)
    await page.getByText('Owner', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await row(page, 'b.txt').waitFor()
    t.equal(await row(page, 'later').count(), 0, 'what came after the backup is gone')

    await chooseInPersonMenu(page, 'Sign out')
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    t.equal(await page.evaluate("fetch('/readdir?path=/').then(({ status }) => status)"), 401)
    t.strictSame(faults, [])
  },
)

t.test('a node that goes away and comes back loses nothing', { skip: needsChromium }, async (t) => {
  const config = JSON.stringify({ extends: 'nodekeep:minimal', plugins: { web: true } })
  const folder = t.testdir({ data: {}, 'late.txt': 'late', 'nodekeep.json': config })
  const start = (port: string) =>
    startClaimableNode(t, join(folder, 'data'), port, {}, join(folder, 'nodekeep.json'))
  const first = await start('0')
  const { page, faults } = await openTab(t, true)
  await page.goto(/\S+#claim=\S+/.exec(first.banner)?.[0] ?? '')
  await chooseWallet(page)
  await signIn(page)
  await page.getByRole('button', { name: 'Not now' }).click()
  await page.getByText('This folder is empty').waitFor()
  await chooseNew(page, 'New folder')
  await page.getByLabel('Name of the folder').fill('typed')
  await first.stop()
  await page.locator('input[type=file]').first().setInputFiles(join(folder, 'late.txt'))
  await page.getByText('The node does not answer').waitFor()
  await page.getByText('Waiting for the node').waitFor()
  t.equal(await page.getByLabel('Name of the folder').inputValue(), 'typed')

  await start(first.url.port)
  await row(page, 'late.txt').waitFor({ state: 'attached' })
  await page.getByText('The node does not answer').waitFor({ state: 'detached' })
  t.equal(await page.getByLabel('Name of the folder').inputValue(), 'typed')

  // The session ends in the middle of work.
  await page.context().clearCookies()
  // A listing that was due may have asked for the sign-in already. Its dialog would be in the way of a click.
  await page.locator('button', { hasText: 'Create' }).dispatchEvent('click')
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await signIn(page)
  await page.getByRole('link', { name: 'typed' }).waitFor()
  t.strictSame(faults, [])
})

t.test('without a wallet, the page says what to do', { skip: needsChromium }, async (t) => {
  const plugins = { 'login-siwe': true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  await node.signIn('owner')
  const { page, faults } = await openTab(t, false)
  await page.goto(node.url.href)
  await page.getByRole('button', { name: 'I am new here' }).waitFor()
  t.equal(await page.getByRole('button', { name: 'I have a wallet' }).count(), 0)
  await page.getByText('I am at the machine of the node').click()
  await page.getByText('nodekeep session create').waitFor()
  t.strictSame(faults, [])
})

t.test(
  'a page of another plugin is shown, with the rights of the person',
  { skip: needsChromium },
  async (t) => {
    const plugins = { web: true, who: { from: '../../examples/page-plugin' } }
    const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    const { page, faults } = await openTab(t, false)
    // No user of a node has such a name.
    const username = '<img src=x onerror="window.__xss = 1">'
    await page.route('**/whoami', async (route) => {
      const response = await route.fetch()
      const { user } = (await response.json()) as { user: object }
      await route.fulfill({ response, json: { user: { ...user, username } } })
    })
    await page
      .context()
      .addCookies([{ name: 'session', value: ada.token, url: node.url.href, sameSite: 'Lax' }])
    await page.goto(new URL('/#/who', node.url).href)
    await page.getByRole('heading', { name: `You are ${username}` }).waitFor()
    await page.getByRole('button', { name: 'Count my sessions' }).click()
    await page.getByText('You have 1 sessions.').waitFor()
    await page.getByRole('button', { name: `Menu of ${username}` }).waitFor()
    t.equal(await page.evaluate('window.__xss'), undefined)
    t.strictSame(faults, [])
  },
)
