import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, Type, WebPages } from '@nodekeep/plugin-sdk'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { answerRequests } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { chooseInPersonMenu, chooseNew, openPage } from './fixtures/frame.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'
import { addWallet } from './wallet.ts'

t.jobs = 3

const browser = needsChromium ? null : await startChromium(t)

/** Two pages, one of which has the beginning of the other one's name. Each writes its name and the places that it hears of. */
function placePages(folder: string) {
  return definePlugin({
    id: 'places',
    description: 'Adds pages.',
    config: Type.Object({}),
    contributes: { pages: WebPages },
    setup({ pages }) {
      for (const name of ['note', 'notes']) pages.add(name, { title: name, folder, module: 'page.js' })
    },
  })
}

const placeModule = `window.heard ??= []
export default (element, page) => {
  const text = document.createElement('p')
  text.textContent = page.place
  element.append(text)
  page.onPlace((place, query) => window.heard.push([place, query]))
  if (page.place === '/secret') page.notice('A secret failed.', 'error')
  if (page.place === '/undo') {
    page.setTitle('2026')
    page.notice('Moved.', 'done', { label: 'Undo', run: () => page.navigate('/note/done', { query: { of: 'a b?' } }) })
  }
}`

t.test('the first page', { skip: needsChromium, jobs: 3 }, async (t) => {
  const plugins = {
    files: true,
    'storage-local': true,
    'login-siwe': true,
    'login-code': true,
    web: true,
  }
  const node = await createTestNode({
    config: { plugins, auth: { admission: 'open' }, web: { name: 'Our home' } },
    plugins: [placePages(t.testdir({ 'page.js': placeModule }))],
    folder: import.meta.dirname,
  })
  t.teardown(() => node.stop())
  await node.signIn('owner')
  if (browser === null) return
  const openTab = async (browser: Browser) => {
    const ada = await node.signIn()
    const tab = await openSignedInTab(browser, node, ada)
    await tab.page.getByText('This folder is empty').waitFor()
    return tab
  }

  t.test('a page hears of its own places only', async (t) => {
    const { page, context, user } = await openTab(browser)
    await put(user, '/deep/deeper/a.txt')
    await page.getByRole('link', { name: 'deep' }).click()
    await page.getByRole('link', { name: 'deeper' }).waitFor()
    await page.getByRole('link', { name: 'Our home' }).click()
    await page.getByRole('row').getByRole('link', { name: 'deep', exact: true }).waitFor()

    await chooseNew(page, 'New folder')
    await page.evaluate("location.hash = '#/note/a'")
    await page.getByText('/a', { exact: true }).waitFor()
    await page.evaluate("location.hash = '#/notes/b'")
    await page.getByText('/b', { exact: true }).waitFor()
    t.strictSame(await page.evaluate('window.heard'), [])
    await page.evaluate("location.hash = '#/files'")
    await page.getByRole('link', { name: 'deep' }).waitFor()
    // The question of a page ends with it.
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
    await context.close()
  })

  t.test('the room that is used follows an upload', async (t) => {
    const { page, context, faults } = await openTab(browser)
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    await navigation.getByText('0 B used').waitFor()
    const file = { name: 'film.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(5000) }
    await page.locator('input[type=file][multiple]').first().setInputFiles(file)
    await navigation.getByText('5 kB used').waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  t.test('the frame has the pages, the name of the node, and the menu of the person', async (t) => {
    const { page, context, user, faults } = await openTab(browser)
    const titleIs = (title: string) => untilTrue(page, `document.title === ${JSON.stringify(title)}`)
    await put(user, '/deep/a.txt')
    await page.getByRole('link', { name: 'deep' }).click()
    await titleIs('deep · Our home')
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    await navigation.getByText(/used/).waitFor()
    await openPage(page, 'note')
    await titleIs('note · Our home')
    t.equal(await navigation.getByRole('button', { name: 'More' }).getAttribute('aria-current'), 'true')

    await page.evaluate("location.hash = '#/files'")
    await page.getByRole('row').getByRole('link', { name: 'deep' }).waitFor()
    await page.evaluate("location.hash = '#/note/undo'")
    await titleIs('2026 · Our home')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Moved.').waitFor({ state: 'detached' })
    await untilTrue(page, 'window.heard.length > 0')
    t.strictSame(await page.evaluate('window.heard'), [['/done', { of: 'a b?' }]])

    const background = 'getComputedStyle(document.body).backgroundColor'
    const light = await page.evaluate(background)
    await chooseInPersonMenu(page, 'Dark')
    await untilTrue(page, `${background} !== '${light}'`)
    await page.reload()
    await untilTrue(page, `${background} !== '${light}'`)
    const menu = page.getByRole('button', { name: /^Menu of / })
    await menu.focus()
    await page.keyboard.press('Enter')
    const lines = page.getByRole('menuitem').or(page.getByRole('menuitemradio'))
    t.strictSame(
      (await lines.allTextContents()).map((line) => line.trim()),
      ['Account', 'Light', 'Dark', 'As the system', 'Sign out'],
    )
    await page.getByRole('menuitemradio', { name: 'Dark', checked: true }).waitFor()
    await page.keyboard.press('End')
    await untilTrue(page, "document.activeElement.textContent.trim() === 'Sign out'")
    await page.keyboard.press('l')
    await untilTrue(page, "document.activeElement.textContent.trim() === 'Light'")
    await page.keyboard.press('Escape')
    await lines.first().waitFor({ state: 'detached' })
    await untilTrue(page, "document.activeElement.ariaLabel.startsWith('Menu of')")

    await menu.click()
    await lines.first().waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await untilTrue(page, "document.querySelector('.menu').getBoundingClientRect().right <= innerWidth - 6")
    await page.keyboard.press('Escape')
    await navigation.getByRole('link', { name: 'Trash' }).waitFor({ state: 'detached' })
    const name = page.locator('body > .top').getByText('Our home')
    t.ok(((await name.boundingBox())?.width ?? 0) > 40, 'a phone shows the name, too')
    await openPage(page, 'Trash')
    await titleIs('Trash · Our home')
    await navigation.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem').first().waitFor()
    await page.goBack()
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' })
    t.strictSame(faults, [])
    await context.close()
  })

  t.test('a proxy that answers for a node that is away', async (t) => {
    const { page, context, user } = await openTab(browser)
    await put(user, '/deep/deeper/a.txt')
    await page.getByRole('link', { name: 'deep' }).waitFor()
    const body = '<h1>502 Bad Gateway</h1>'
    const isAsked = ({ pathname }: URL) => /^\/(api|write|whoami)/.test(pathname)
    const goOn = await answerRequests(page, isAsked, (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body }),
    )
    await page.getByRole('link', { name: 'deep' }).click()
    const file = { name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') }
    await page.locator('input[type=file]').first().setInputFiles(file)
    await page.getByText('The node does not answer').waitFor()
    await page.getByText('Waiting for the node').waitFor()
    goOn()
    // The page need not wait for its next attempt.
    await page.evaluate("dispatchEvent(new Event('online'))")
    await page.getByRole('link', { name: 'deeper' }).waitFor()
    await page.getByRole('link', { name: 'late.txt' }).waitFor()
    t.equal(await page.getByText('502').count(), 0)
    await context.close()
  })

  t.test('nothing of a person is sent with the session of somebody else', async (t) => {
    const { page, context, faults } = await openTab(browser)
    const { address } = await addWallet(context)
    await page.reload()
    await page.getByText('This folder is empty').waitFor()
    await chooseNew(page, 'New folder')
    await page.getByLabel('Name of the folder').fill('of ada')
    await context.clearCookies()
    await page.locator('button[type=submit]', { hasText: 'Create' }).dispatchEvent('click')
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
    await page.getByRole('button', { name: `Menu of ${address.slice(0, 10).toLowerCase()}` }).waitFor()
    await page.getByText('This folder is empty').waitFor()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
    await chooseNew(page, 'New folder')
    await page.getByLabel('Name of the folder').fill('of bob')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: 'of bob' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'of ada' }).count(), 0)
    t.strictSame(faults, [])
    await context.close()
  })

  t.test('a sign-out ends the session in all tabs, and leaves nothing there', async (t) => {
    const { page, context } = await openTab(browser)
    await page.evaluate("sessionStorage.setItem('chat', 'secret')")
    await page.evaluate("location.hash = '#/note/secret'")
    await page.getByText('A secret failed.').waitFor()
    const other = await context.newPage()
    await other.goto(node.url.href)
    await chooseInPersonMenu(other, 'Sign out')
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await page.getByText('secret').waitFor({ state: 'detached' })
    t.notMatch(page.url(), 'secret')
    t.equal(await page.evaluate('sessionStorage.length'), 0)
    await context.close()
  })

  t.test('a tab keeps nothing for the person who signs in next, also after a reload', async (t) => {
    const { page, context, user } = await openTab(browser)
    await page.evaluate("sessionStorage.setItem('chat', 'mine')")
    await page.reload()
    await page.getByText('This folder is empty').waitFor()
    t.equal(await page.evaluate("sessionStorage.getItem('chat')"), 'mine')
    const next = await node.signIn()
    t.not(next.user.uuid, user.user.uuid)
    await put(next, '/of the next.txt')
    await context.addCookies([{ name: 'session', value: next.token, url: node.url.href, sameSite: 'Lax' }])
    await page.reload()
    await page.getByRole('link', { name: 'of the next.txt' }).waitFor()
    t.equal(await page.evaluate("sessionStorage.getItem('chat')"), null)
    await context.close()
  })

  t.test('a wallet that does not answer, and a failure below the way that failed', async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 500 } })
    context.setDefaultTimeout(60_000)
    await context.addInitScript('window.ethereum = { request: () => new Promise(() => {}) }')
    const page = await context.newPage()
    await page.goto(node.url.href)
    await page.getByRole('button', { name: 'Sign in with the wallet of this browser' }).click()
    await page.getByText('Confirm the sign-in in your wallet.').waitFor()
    await page.getByText('I have a sign-in code').click()
    await page.getByLabel('Sign-in code').fill('0000-0000-0000')
    await page.getByRole('button', { name: 'Sign in with this code' }).click()
    const fault = page.getByText('The code is wrong, used or too old.')
    await fault.waitFor()
    // The reason comes into view.
    await untilTrue(
      page,
      `(({ top, bottom }) => top > 0 && bottom <= innerHeight)(document.querySelector('.fault:not(:empty)').getBoundingClientRect())`,
    )
    await context.close()
  })
})

t.test('a wallet that declines to sign a request to the owner', { skip: needsChromium }, async (t) => {
  const plugins = { 'login-siwe': true, 'access-requests': true, web: true }
  const config = { plugins, auth: { admission: 'owner' } }
  const node = await createTestNode({ config, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  if (browser === null) return
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  const { address } = await addWallet(context)
  const page = await context.newPage()
  await page.goto(node.url.href)
  await page.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
  await page.getByLabel('Your name').fill('Papa')
  await page.evaluate(`
    const sign = window.callTestWallet
    window.callTestWallet = async () => {
      window.callTestWallet = sign
      throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
    }
  `)
  const ask = page.getByRole('button', { name: 'Ask the owner' })
  await ask.click()
  await page.getByRole('alert').getByText('You declined in your wallet. Nothing happened.').waitFor()
  t.equal(await page.getByLabel('Your name').inputValue(), 'Papa')
  await ask.click()
  await page.getByRole('heading', { name: 'The owner has your request' }).waitFor()
  const { requests } = (await (await owner.fetch('/api/access-requests')).json()) as { requests: object[] }
  t.match(requests, [{ wallet: address, username: 'papa' }])
  const shown = await page.locator('.address > span').first().textContent()
  t.equal(shown, address, 'the page and the owner see the same letters')
  await context.close()
})

t.test('a page whose plugin stops says so, and keeps what was typed', { skip: needsChromium }, async (t) => {
  const optional = { required: false }
  const plugins = { ai: optional, files: optional, 'storage-local': optional, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const turn = async (id: string, action: string) => {
    const answer = await owner.fetch(`/api/system/plugins/${id}/${action}`, { method: 'POST' })
    t.equal(answer.status, 200)
  }
  if (browser === null) return
  const { page, faults } = await openSignedInTab(browser, node, await node.signIn())
  const told = 'This part of the node is not running. The owner of the node can start it.'
  const open = (name: string) => page.getByRole('link', { name, exact: true }).click()

  await open('Chat')
  await page.getByRole('heading', { name: 'No model answers' }).waitFor()
  await page.getByLabel('Message', { exact: true }).fill('typed')
  await turn('ai', 'disable')
  await page.getByRole('button', { name: 'Look again' }).click()
  await page.getByRole('alert').getByText(told).waitFor()
  t.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'typed')

  await open('Files')
  await page.getByText('This folder is empty').waitFor()
  await chooseNew(page, 'New folder')
  await page.getByLabel('Name of the folder').fill('typed')
  await turn('files', 'disable')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('dialog').getByText(told).waitFor()
  await turn('files', 'enable')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('row').getByRole('link', { name: 'typed' }).waitFor()
  await turn('files', 'disable')
  const file = { name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') }
  await page.locator('input[type=file]').first().setInputFiles(file)
  await page.getByRole('listitem').getByText(told).waitFor()
  t.equal(await page.getByText(/\/(api|write|mkdir)/).count(), 0, 'nothing shows a path of the API')
  t.strictSame(faults, [])
})

t.test(
  'a page that is opened while the node is away appears when it is back',
  { skip: needsChromium },
  async (t) => {
    const optional = { required: false }
    const plugins = { files: optional, 'storage-local': optional, web: true }
    const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
    t.teardown(() => node.stop())
    if (browser === null) return
    const { page, faults } = await openSignedInTab(browser, node, await node.signIn())
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.method()))
    await page.getByText('This folder is empty').waitFor()
    await page.context().setOffline(true)
    await chooseInPersonMenu(page, 'Account')
    await page.getByText('The node does not answer').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'API tokens' }).waitFor()
    await page.getByText('The node does not answer').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await page.getByText('This folder is empty').waitFor()
    t.notOk(asked.includes('OPTIONS'))
    t.strictSame(faults, [])
  },
)

t.test(
  'a page of which a part could not be loaded appears after a reload',
  { skip: needsChromium },
  async (t) => {
    const files = { 'page.js': `import './part.js'\n${placeModule}`, 'part.js': '' }
    const node = await createTestNode({
      config: { plugins: { files: true, 'storage-local': true, web: true } },
      plugins: [placePages(t.testdir(files))],
      folder: import.meta.dirname,
    })
    t.teardown(() => node.stop())
    if (browser === null) return
    const { page, context } = await openSignedInTab(browser, node, await node.signIn())
    await page.getByText('This folder is empty').waitFor()
    const mend = await answerRequests(context, '**/part.js', (route) => route.abort())
    await openPage(page, 'note')
    await page.getByRole('alert').getByText('The page "note" cannot be shown.').waitFor()
    mend()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('main', { name: 'note' }).getByRole('paragraph').waitFor()
    await page.getByRole('alert').first().waitFor({ state: 'detached' })
  },
)

async function put(user: TestUser, path: string): Promise<void> {
  const answer = await user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body: 'x' })
  t.ok(answer.ok)
}
