import { randomBytes } from 'node:crypto'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { answerOnce } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  /** The field for files. */
  readonly chooser: Locator
  /** The line of the uploads. */
  readonly line: Locator
}

t.test('uploads in the pages', { skip: needsChromium, jobs: 2 }, async (t) => {
  const plugins = { files: true, 'storage-local': true, uploads: true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const browser = await startChromium(t)
  const test = (name: string, run: (t: Test, scene: Scene) => Promise<void>) =>
    t.test(name, async (t) => {
      const { page, context, user: ada, faults } = await openSignedInTab(browser, node, await node.signIn())
      t.teardown(() => context.close())
      // The browser asks before a reload while an upload runs.
      page.on('dialog', (dialog) => dialog.accept())
      await page.getByRole('grid').waitFor()
      const chooser = page.locator('input[type=file][multiple]').first()
      await run(t, { page, ada, chooser, line: page.getByRole('region', { name: 'Uploads and changes' }) })
      t.equal(await page.evaluate('window.__xss'), undefined, 'nothing that was stored has run')
      t.strictSame(faults, [])
    })

  test('what is there already is shown beside what comes', async (t, { page, ada, chooser, line }) => {
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt']
    const folder = t.testdir(Object.fromEntries(names.map((name) => [name, `new ${name}`])))
    await utimes(join(folder, 'a.txt'), 1_700_000_000, 1_700_000_000)
    for (const name of names) await put(ada, `/${name}`, 'old')
    await chooser.setInputFiles(names.map((name) => join(folder, name)))
    const dialog = page.getByRole('dialog')
    const question = (name: string) => dialog.getByRole('heading', { name: `"${name}" is there already` })
    await question('a.txt').waitFor()
    await dialog.getByRole('region', { name: 'There now' }).getByText('3 B').waitFor()
    const coming = dialog.getByRole('region', { name: 'New' })
    await coming.getByText('9 B').waitFor()
    await coming.getByText('2023').waitFor()

    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await line.getByText('5 of these names are taken already.').waitFor()
    t.equal(await contentOf(ada, '/a.txt'), 'old')
    await line.getByRole('button', { name: 'Decide' }).click()
    await question('a.txt').waitFor()
    await dialog.getByRole('button', { name: 'Skip' }).click()
    await question('b.txt').waitFor()
    await dialog.getByRole('button', { name: 'Replace' }).click()
    await question('c.txt').waitFor()
    await dialog.getByRole('checkbox', { name: 'Do the same for all others' }).check()
    await dialog.getByRole('button', { name: 'Keep both' }).click()
    await dialog.waitFor({ state: 'detached' })
    await line.getByText('(4/5)').waitFor()
    await line.getByText('Everything is done.').waitFor()
    const paths = ['/a.txt', '/b.txt', '/c.txt', '/c (2).txt', '/e (2).txt']
    t.strictSame(await Promise.all(paths.map((path) => contentOf(ada, path))), [
      'old',
      'new b.txt',
      'old',
      'new c.txt',
      'new e.txt',
    ])
  })

  test('a person pauses an upload and goes on', async (t, { page, ada, chooser, line }) => {
    const content = randomBytes(5_000_000)
    const folder = t.testdir({ 'large.bin': content, 'small.txt': 'small' })
    const offsets = await stallFirst(page, ada, content)
    await chooser.setInputFiles(join(folder, 'large.bin'))
    await line.getByText('of 5 MB').waitFor()
    await offsets.arrived
    await line.getByRole('button', { name: 'Pause' }).click()
    await line.getByText('Paused').waitFor()
    await chooser.setInputFiles(join(folder, 'small.txt'))
    await line.getByText('(0/2)').waitFor()
    t.equal((await ada.fetch('/stat?path=/small.txt')).status, 404, 'what comes later waits, too')
    await line.getByRole('button', { name: 'Go on' }).click()
    await line.getByText('(2/2)').waitFor()
    t.ok(Buffer.from(await (await ada.fetch('/read?path=/large.bin')).arrayBuffer()).equals(content))
    t.strictSame(offsets.seen, [0, 2_000_000], 'it went on where it stopped')
    await line.getByRole('button', { name: 'Clear' }).click()
    await line.waitFor({ state: 'detached' })
  })

  test('an upload goes on after a reload', async (t, { page, ada, chooser, line }) => {
    const content = randomBytes(5_000_000)
    const folder = t.testdir({
      'large.bin': content,
      'other.bin': content.subarray(1),
      'given up.bin': content,
    })
    const offsets = await stallFirst(page, ada, content)
    await chooser.setInputFiles(join(folder, 'large.bin'))
    await offsets.arrived
    await page.reload()
    const cut = page.getByRole('region', { name: 'Uploads that were cut short' })
    await cut.getByText('An upload was cut short, with 3 MB still to come.').waitFor()
    t.equal(await line.count(), 0)
    const again = cut.getByLabel('Choose files').last()
    await again.setInputFiles(join(folder, 'other.bin'))
    await page.getByText('One of these files is none of those that were cut short.').waitFor()
    t.equal((await ada.fetch('/stat?path=/other.bin')).status, 404)
    await again.setInputFiles(join(folder, 'large.bin'))
    await line.getByText('(1/1)').waitFor()
    await cut.waitFor({ state: 'detached' })
    t.ok(Buffer.from(await (await ada.fetch('/read?path=/large.bin')).arrayBuffer()).equals(content))
    t.strictSame(offsets.seen, [0, 2_000_000], 'it went on where it stopped')
    await page.reload()
    await page.getByRole('grid').waitFor()
    t.equal(await cut.count(), 0, 'nothing is left')

    const next = await stallFirst(page, ada, content)
    await chooser.setInputFiles(join(folder, 'given up.bin'))
    await next.arrived
    await page.reload()
    const [forgotten] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'DELETE'),
      cut.getByRole('button', { name: 'Give up' }).click(),
    ])
    t.equal(forgotten.status(), 204)
    const { uploads } = (await (await ada.fetch('/api/files/uploads')).json()) as { uploads: unknown[] }
    t.strictSame(uploads, [])
  })

  test('what failed is listed with what can be done', async (t, { page, ada, chooser, line }) => {
    const folder = t.testdir({ 'full.txt': 'full', 'good.txt': 'good' })
    const body = { error: true, message: 'The disk of the node is full.', code: 'INSUFFICIENT_STORAGE' }
    await answerOnce(page, '**/write?path=%2Ffull.txt', (route) => route.fulfill({ status: 507, json: body }))
    await chooser.setInputFiles(['full.txt', 'good.txt'].map((name) => join(folder, name)))
    await line.getByText('One failed.').waitFor()
    await line.getByText('The disk of the node is full.').waitFor()
    t.equal(await contentOf(ada, '/good.txt'), 'good')
    await line.getByRole('button', { name: 'Try again: full.txt' }).click()
    await line.getByText('Everything is done.').waitFor()
    t.equal(await line.getByRole('listitem').count(), 0, 'the line is folded')
    t.equal(await contentOf(ada, '/full.txt'), 'full')
  })

  t.test('a phone takes a photo', async (t) => {
    const ada = await node.signIn()
    const context = await browser.newContext({
      isMobile: true,
      hasTouch: true,
      viewport: { width: 390, height: 844 },
    })
    context.setDefaultTimeout(60_000)
    t.teardown(() => context.close())
    await context.addCookies([{ name: 'session', value: ada.token, url: node.url.href, sameSite: 'Lax' }])
    const page = await context.newPage()
    await page.goto(node.url.href)
    await page.getByRole('button', { name: 'New', exact: true }).tap()
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('menuitem', { name: 'Take a photo' }).tap(),
    ])
    t.equal(await chooser.element().getAttribute('capture'), 'environment')
    await chooser.setFiles({ name: 'image.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('photo') })
    const row = page.getByRole('row').filter({ hasText: /^\d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.jpg/ })
    await row.waitFor()
  })
})

/**
 * Lets 2 MB of the first piece of an upload arrive, and nothing more of it until it is aborted. Later pieces are sent as they are.
 *
 * @returns the offsets of all pieces, and a promise for the first one's arrival
 */
async function stallFirst(
  page: Page,
  ada: TestUser,
  content: Buffer,
): Promise<{ readonly seen: readonly number[]; readonly arrived: Promise<void> }> {
  const seen: number[] = []
  const { promise: arrived, resolve } = Promise.withResolvers<void>()
  await page.route('**/api/files/uploads/*', async (route) => {
    const request = route.request()
    if (request.method() !== 'PATCH') return route.continue()
    const offset = Number(request.headers()['upload-offset'])
    seen.push(offset)
    if (seen.length > 1) return route.continue()
    const headers = {
      'tus-resumable': '1.0.0',
      'upload-offset': `${offset}`,
      'content-type': 'application/offset+octet-stream',
    }
    const body = new Uint8Array(content.subarray(offset, offset + 2_000_000))
    await ada.fetch(new URL(request.url()).pathname, { method: 'PATCH', headers, body })
    resolve()
  })
  return { seen, arrived }
}

async function put(user: TestUser, path: string, body: string): Promise<void> {
  const { status } = await user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body })
  if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
}

async function contentOf(user: TestUser, path: string): Promise<string> {
  return (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
}
