import { createHash } from 'node:crypto'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { chooseInPersonMenu, openPage } from './fixtures/frame.ts'
import { startSwitchedProxy } from './fixtures/switched-proxy.ts'

const browser = needsChromium ? null : await startChromium(t)

const away = 'The node does not answer'
const empty = 'This folder is empty'

async function startFilesNode(): Promise<TestNode> {
  const plugins = { files: true, 'storage-local': true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  await node.signIn('owner')
  return node
}

let shared: Promise<TestNode> | undefined

/** Opens the pages for a new person, through a proxy of their own, so that each has an origin of its own. */
async function openApp(t: Test) {
  if (browser === null) throw new Error('Chromium is missing.')
  shared ??= startFilesNode()
  const node = await shared
  const proxy = await startSwitchedProxy(t, node.url)
  const user = await node.signIn()
  const context = await browser.newContext()
  t.teardown(() => context.close())
  context.setDefaultTimeout(60_000)
  await context.addCookies([{ name: 'session', value: user.token, url: proxy.url.href, sameSite: 'Lax' }])
  const faults: string[] = []
  const page = await context.newPage()
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (line) => {
    if (/Content.Security.Policy|Trusted/i.test(line.text())) faults.push(line.text())
  })
  await page.goto(proxy.url.href)
  await page.getByText(empty).waitFor()
  await untilKept(page)
  return { page, context, proxy, user, faults }
}

/** The paths in the caches of the browser, with the name of each cache. */
const cached = `(async () => {
  const paths = []
  for (const name of await caches.keys())
    for (const { url } of await (await caches.open(name)).keys()) paths.push(new URL(url).pathname)
  return paths.sort()
})()`

/** Waits until the browser keeps the first page. Its document is kept last. */
function untilKept(page: Page): Promise<void> {
  return untilTrue(page, "caches.match('/').then((kept) => kept !== undefined)")
}

function untilNothingIsKept(page: Page): Promise<void> {
  return untilTrue(page, 'caches.keys().then((names) => names.length === 0)')
}

t.test(
  'while the node is away the first page says so, and it comes back by itself',
  { skip: needsChromium },
  async (t) => {
    const { page, proxy, faults } = await openApp(t)
    const kept = (await page.evaluate(cached)) as string[]
    t.ok(kept.includes('/') && kept.includes('/web/shell.js'))
    t.strictSame(
      kept.filter((path) => path !== '/' && !path.startsWith('/web/')),
      [],
      'only files of the first page are kept, and none of the person',
    )

    proxy.isAway = true
    await openPage(page, 'Trash')
    await page.getByText(away).waitFor()
    await page.reload()
    await page.getByText(away).waitFor()
    t.equal(await page.getByRole('navigation').count(), 0, 'nothing of the person is shown')
    proxy.isAway = false
    await page.getByText('The trash is empty').waitFor()
    await page.getByText(away).waitFor({ state: 'detached' })

    // A proxy says it with a page of its own.
    const gone = { status: 502, type: 'text/html', body: '<h1>502 Bad Gateway</h1>' }
    const asked = ['/', '/web/shell.js', '/web/shell.css', '/web/icon.svg', '/whoami', '/api/web/pages']
    for (const path of asked) proxy.answers.set(path, gone)
    await page.reload()
    await page.getByText(away).waitFor()
    t.equal(await page.getByText('502').count(), 0)
    proxy.answers.clear()
    await page.getByText('The trash is empty').waitFor()
    t.strictSame(faults, [])
  },
)

t.test('what is not of the node is never kept', { skip: needsChromium }, async (t) => {
  const { page, proxy } = await openApp(t)
  const hostile = { status: 200, type: 'text/html', body: '<title>Free WiFi</title><h1>Pay here</h1>' }
  const missing = { status: 404, type: 'text/plain', body: 'Not found' }
  proxy.answers.set('/', hostile).set('/service-worker.js', missing)
  await page.reload()
  await page.getByRole('heading', { name: 'Pay here' }).waitFor()
  await untilNothingIsKept(page)
  const registrations = 'navigator.serviceWorker.getRegistrations().then(({ length }) => length === 0)'
  await untilTrue(page, registrations)
  proxy.isAway = true
  await t.rejects(opened(page), 'the browser has nothing to show while the node is away')
  proxy.isAway = false
  proxy.answers.clear()
  await page.reload()
  await page.getByText(empty).waitFor()
  await untilKept(page)

  // A part of the first page is replaced on its way.
  proxy.answers.set('/web/shell.css', { status: 200, type: 'text/css', body: 'body { color: red }' })
  await page.reload()
  await page.getByText(empty).waitFor()
  await untilNothingIsKept(page)
  proxy.answers.clear()
  await page.reload()
  await untilKept(page)
})

t.test('a new release takes the place of the one that is kept', { skip: needsChromium }, async (t) => {
  const { page, proxy, user } = await openApp(t)
  const own = async (path: string) => (await user.fetch(path)).text()
  const before = await own('/')
  const after = before.replace('<head>', '<head><meta name="release" content="2" />')
  const hash = (text: string) => createHash('sha256').update(text).digest('base64url')
  const worker = await own('/service-worker.js')
  t.ok(worker.includes(hash(before)), 'the worker knows the first page of its release')
  proxy.answers.set('/', { status: 200, type: 'text/html', body: after }).set('/service-worker.js', {
    status: 200,
    type: 'text/javascript',
    body: worker.replaceAll(hash(before), hash(after)),
  })
  await page.reload()
  const isNew = `caches.keys().then((names) => names.length === 1 && names[0].includes('${hash(after)}'))`
  await untilTrue(page, isNew)
  await untilKept(page)
  proxy.isAway = true
  await page.reload()
  await page.getByText(away).waitFor()
  t.equal(await page.locator('meta[name=release]').getAttribute('content'), '2')
})

t.test('a sign-out leaves nothing in the browser', { skip: needsChromium }, async (t) => {
  const { page, proxy } = await openApp(t)
  await share(page, { 'secret.txt': 'of ada' })
  await page.getByRole('dialog').getByText('Where should the file go?').waitFor()
  t.ok(((await page.evaluate(cached)) as string[]).some((path) => path.startsWith('/shared/')))
  await page.reload()
  await page.getByRole('dialog').getByText('Where should the file go?').waitFor()
  // The session ends elsewhere.
  await page.context().clearCookies()
  await page.reload()
  await page.getByText('The files that you shared were not taken').waitFor()
  await untilNothingIsKept(page)
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.strictSame(await page.evaluate(cached), [], 'nothing is kept for somebody who is not signed in')
  proxy.isAway = true
  await t.rejects(opened(page))
})

t.test('shared files are stored where the person says', { skip: needsChromium }, async (t) => {
  const { page, faults } = await openApp(t)
  await share(page, { 'a b&ü.txt': 'one', 'two.txt': 'two' })
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Where should the 2 files go?').waitFor()
  await dialog.getByRole('button', { name: 'Upload here' }).click()
  const read = (path: string) =>
    `fetch('/read?path=${encodeURIComponent(path)}').then(async (answer) => answer.ok && (await answer.text()))`
  await untilTrue(page, `${read('/a b&ü.txt')}.then((text) => text === 'one')`)
  await untilTrue(page, `${read('/two.txt')}.then((text) => text === 'two')`)
  await untilTrue(page, "caches.has('shared files').then((has) => !has)")

  // Other sites can send files, too. Nothing is stored without a yes.
  await share(page, { 'unasked.txt': 'x' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await untilTrue(page, "caches.has('shared files').then((has) => !has)")
  await page.reload()
  await page.getByText('two.txt').first().waitFor()
  t.equal(await page.getByText('unasked.txt').count(), 0)

  await share(page, Object.fromEntries(Array.from({ length: 103 }, (_, i) => [`${i}.txt`, 'x'])))
  await page.getByText('3 files were not taken').waitFor()
  await dialog.getByText('Where should the 100 files go?').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()

  // The browser has room for some of the files.
  const cdp = await page.context().newCDPSession(page)
  const { origin } = new URL(page.url())
  const { usage } = await cdp.send('Storage.getUsageAndQuota', { origin })
  await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: usage + 1_000_000 })
  await share(page, { 'small.txt': 'x', 'large.txt': 'x'.repeat(2_000_000), 'last.txt': 'x' })
  await page.getByText('2 files were not taken').waitFor()
  await dialog.getByText('Where should the file go?').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await cdp.send('Storage.overrideQuotaForOrigin', { origin })

  await chooseInPersonMenu(page, 'Sign out')
  await page.getByText('You are signed out.').waitFor()
  await untilNothingIsKept(page)
  t.strictSame(faults, [])
})

/** Opens the address of a page in another tab. Rejects if the browser has nothing to show. */
async function opened(page: Page): Promise<void> {
  const other = await page.context().newPage()
  try {
    await other.goto(page.url())
  } finally {
    await other.close()
  }
}

/** Sends files as a phone does when a person shares them with the app. */
async function share(page: Page, files: Readonly<Record<string, string>>): Promise<void> {
  const send = `(() => {
    const data = new DataTransfer()
    for (const [name, text] of Object.entries(${JSON.stringify(files)}))
      data.items.add(new File([text], name, { type: 'text/plain' }))
    const form = document.createElement('form')
    Object.assign(form, { action: '/share', method: 'POST', enctype: 'multipart/form-data' })
    const input = document.createElement('input')
    Object.assign(input, { type: 'file', name: 'files', multiple: true, files: data.files })
    form.append(input)
    document.body.append(form)
    form.submit()
  })()`
  await Promise.all([page.waitForURL(/#\/files$/), page.waitForEvent('load'), page.evaluate(send)])
}
