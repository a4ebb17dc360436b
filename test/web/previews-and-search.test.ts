import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { answerRequests } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  /** Opens a page of the node, such as `files`. */
  open(place: string): Promise<void>
}

t.test('pages of a node with previews and search', { skip: needsChromium, jobs: 2 }, async (t) => {
  const plugins = { files: true, 'storage-local': true, previews: true, search: true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const browser = await startChromium(t)
  const test = (name: string, run: (t: Test, scene: Scene) => Promise<void>) =>
    t.test(name, async (t) => {
      const { page, context, user: ada, faults } = await openSignedInTab(browser, node, await node.signIn())
      t.teardown(() => context.close())
      const open = async (place: string) => {
        await page.goto(new URL(`/#/${place}`, node.url).href)
        await page.reload()
      }
      await run(t, { page, ada, open })
      t.equal(await page.evaluate('window.__xss'), undefined, 'nothing that was stored has run')
      t.strictSame(faults, [])
    })

  test('files are found by their names and contents', async (t, { page, ada, open }) => {
    await put(ada, '/Recipes/Apple cake.md', '# Apple cake\n\nBake it for 40 minutes.\n')
    await put(
      ada,
      '/Letters/<b>landlord.txt',
      'Dear Ms. Lindt,\n<img src=x onerror=window.__xss=1> the cake was good.\n',
    )
    await put(ada, '/Letters/cakes/none.txt', 'Nothing of it.')
    for (let n = 0; n < 25; n += 1) await put(ada, `/many/paper ${n}.txt`, 'x')
    await isRead(ada, 'search')
    await open('files/Letters')
    const box = page.getByRole('searchbox', { name: 'Search files' })
    const grid = page.getByRole('grid')
    await box.waitFor()
    await grid.focus()
    await page.keyboard.press('/')
    await page.keyboard.type('cake')
    const results = page.getByRole('region', { name: 'Results' })
    const items = results.getByRole('listitem')
    await items.nth(2).waitFor()
    const names = async () => (await items.locator('.name').allTextContents()).map((name) => name.trim())
    t.strictSame((await names()).sort(), ['<b>landlord.txt', 'Apple cake.md', 'cakes'])
    t.equal((await names()).at(-1), '<b>landlord.txt', 'contents come after names')
    // A node that is busy answers without the surroundings of the words.
    while ((await items.last().locator('mark').count()) === 0) {
      for (const text of ['cak', 'cake'])
        await Promise.all([page.waitForResponse('**/api/search?*'), box.fill(text)])
      await page.evaluate('new Promise(requestAnimationFrame)')
    }
    t.strictSame(await items.last().locator('mark').allTextContents(), ['cake'])
    t.match(
      await items.last().locator('.snippet').textContent(),
      '<img src=x onerror=window.__xss=1> the cake',
    )

    await results.getByLabel('Only this folder').check()
    await items.nth(2).waitFor({ state: 'detached' })
    t.strictSame(await names(), ['cakes', '<b>landlord.txt'])
    await results.getByLabel('Kind').selectOption('Folders')
    await items.nth(1).waitFor({ state: 'detached' })
    await results.getByLabel('Kind').selectOption('All kinds')
    await results.getByLabel('Only this folder').uncheck()
    await items.nth(2).waitFor()

    await items.last().locator('.name').click()
    const viewer = page.getByRole('dialog')
    await viewer.getByText('Dear Ms. Lindt,').waitFor()
    await viewer.getByRole('button', { name: 'Previous' }).click()
    await viewer.getByRole('heading', { name: 'Apple cake.md' }).waitFor()
    await page.keyboard.press('Escape')
    await viewer.waitFor({ state: 'detached' })
    t.equal(await items.count(), 3, 'what was found is still there')
    await page.keyboard.press('Escape')
    await results.waitFor({ state: 'detached' })
    await page.locator('.rows:focus').waitFor()
    t.equal(await box.inputValue(), '')

    await box.fill('cake')
    await items.filter({ hasText: 'Apple cake.md' }).getByRole('link', { name: '/Recipes' }).click()
    await page.getByRole('row').filter({ hasText: 'Apple cake.md' }).waitFor()
    await box.fill('paper')
    await items.nth(19).waitFor()
    t.equal(await items.count(), 20)
    await results.getByRole('button', { name: 'Show more' }).click()
    await results.getByText('25 results').waitFor()
    t.equal(await items.count(), 25)
    await box.fill('no such word')
    await results.getByText('Nothing was found.').waitFor()
    await box.fill('')
    await results.waitFor({ state: 'detached' })
  })

  test('a search begins on every page, and has an address', async (t, { page, ada, open }) => {
    await put(ada, '/Letters/cake & co.txt', 'x')
    await isRead(ada, 'search')
    await open('trash')
    await page.getByRole('heading', { name: 'Trash', exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('cake &')
    const found = page.getByRole('link', { name: 'cake & co.txt' })
    await found.waitFor()
    const box = page.getByRole('searchbox')
    t.equal(await box.inputValue(), 'cake &', 'the focus stays in the field')
    await page.reload()
    await found.waitFor()
    t.equal(await box.inputValue(), 'cake &')
    await page.goBack()
    await page.getByRole('heading', { name: 'Trash', exact: true }).waitFor()
    await untilTrue(page, "document.querySelector('[type=search]').value === ''")
  })

  test('a search says why it fails, and what is not read yet', async (_, { page, ada, open }) => {
    await put(ada, '/a.txt', 'x')
    await open('files')
    const answer = { entries: [], next: null, isComplete: false, waiting: 3 }
    const readAll = await answerRequests(page, '**/api/search?*', (route) => route.fulfill({ json: answer }))
    const box = page.getByRole('searchbox')
    await box.fill('a')
    await page.getByText('The node has not read the contents of 3 files yet.').waitFor()
    readAll()
    await box.fill('"')
    await page.getByRole('region', { name: 'Results' }).getByRole('alert').getByText(/\w/).waitFor()
    await box.press('Escape')
    await page.getByRole('grid').waitFor()
  })

  test('pictures are shown small in the list, and large when they are opened', async (t, scene) => {
    const { page, ada, open } = scene
    const original = await picture(page, { width: 2000, height: 1000, color: 'teal' })
    await put(ada, '/trip/wide.jpg', original)
    await put(ada, '/trip/broken.jpg', 'no picture')
    await put(ada, '/trip/drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    await put(ada, '/trip/notes.txt', 'x')
    await open('files/trip')
    const row = (name: string) => page.locator('.body').getByRole('row').filter({ hasText: name })
    const small = row('wide.jpg').getByRole('img', { name: 'Preview of wide.jpg' })
    await small.waitFor()
    await untilTrue(page, "document.querySelector('.picture img').naturalWidth === 256")
    await row('broken.jpg').getByRole('img').waitFor({ state: 'detached' })
    const lefts = await page
      .locator('.body .name a')
      .evaluateAll((links) => [...new Set(links.map((link) => link.getBoundingClientRect().left))])
    t.equal(lefts.length, 1, 'all names begin at the same place')

    const dialog = page.getByRole('dialog')
    await row('wide.jpg').getByRole('link').click()
    await dialog.getByRole('img', { name: 'wide.jpg' }).waitFor()
    await untilTrue(page, "document.querySelector('.viewer img').naturalWidth === 1600")
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download' }).click(),
    ])
    t.ok((await bytesOf(await download.createReadStream())).equals(original), 'the original')
    await dialog.getByRole('button', { name: 'Previous' }).click()
    await dialog.getByRole('button', { name: 'Previous' }).click()
    await dialog.getByRole('heading', { name: 'drawing.svg' }).waitFor()
    await untilTrue(page, "document.querySelector('.viewer img')?.naturalWidth === 9")
  })

  test('all pictures are shown by month', async (t, { page, ada, open }) => {
    const red = await picture(page, { width: 400, height: 300, color: 'red' })
    const dates = { '/a/old.jpg': '2025-12-24', '/b/new.jpg': '2026-05-20', '/c/middle.jpg': '2026-05-01' }
    for (const [path, date] of Object.entries(dates)) await put(ada, path, red, `${date}T12:00:00Z`)
    await put(ada, '/c/fake.jpg', 'no picture')
    await isRead(ada, 'previews')
    // Each month comes in several pages.
    await page.route('**/api/previews/photos?*', (route) => {
      const url = new URL(route.request().url())
      url.searchParams.set('limit', '1')
      return route.continue({ url: url.href })
    })
    await open('photos')
    const pictures = page.locator('.photos').getByRole('img')
    await pictures.nth(2).waitFor()
    t.strictSame(await page.getByRole('heading', { level: 2 }).allTextContents(), [
      'May 2026',
      'December 2025',
    ])
    t.strictSame(await pictures.evaluateAll((all) => all.map((img) => img.getAttribute('alt'))), [
      'new.jpg',
      'middle.jpg',
      'old.jpg',
    ])
    await untilTrue(page, "document.querySelector('.photos li img').naturalWidth === 256")
    await pictures.first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Details' }).click()
    await dialog.getByText('400 × 300 pixels').waitFor()
    await page.keyboard.press('ArrowRight')
    await dialog.getByRole('heading', { name: 'middle.jpg' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await dialog.getByRole('heading', { name: 'old.jpg' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowLeft')
    await dialog.getByRole('heading', { name: 'middle.jpg' }).waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    await dialog.getByRole('link', { name: '/c' }).click()
    await page.getByRole('row').filter({ hasText: 'fake.jpg' }).waitFor()
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
  })

  test('a person without pictures is told where they come from', async (_, { page, open }) => {
    await open('photos')
    await page.getByText('Your pictures appear here').waitFor()
  })

  test('the page of the node tells how far previews and search are', async (t, { page, ada, open }) => {
    const red = await picture(page, { width: 400, height: 300, color: 'red' })
    await put(ada, '/red.jpg', red)
    await put(ada, '/broken.jpg', red.subarray(0, red.length / 2))
    await put(ada, '/a.txt', 'text')
    for (const plugin of ['previews', 'search'] as const) await isRead(ada, plugin)
    await open('node/contents')
    const previews = page.getByRole('region', { name: 'Previews of pictures' })
    await previews.getByText('All files are done.').waitFor()
    await previews.getByText('Previews of 1 file were made.').waitFor()
    await previews.getByText('Damaged, or not what the name says').waitFor()
    await previews.getByRole('table', { name: 'Files that were left out, by reason' }).waitFor()
    t.equal(await previews.getByRole('table').getByRole('row').count(), 2)
    const search = page.getByRole('region', { name: 'Search in contents' })
    await search.getByText('The contents of 1 file can be found.').waitFor()
    await page.route('**/api/search/status', (route) => route.fulfill({ status: 404, json: {} }))
    await open('node/contents')
    await previews.waitFor()
    t.equal(await search.count(), 0, 'the other one is shown without it')
  })
})

/** @param modified the time of the file, in ISO 8601 */
async function put(user: TestUser, path: string, content: string | Buffer, modified?: string): Promise<void> {
  const body = new Blob([typeof content === 'string' ? content : new Uint8Array(content)])
  const headers = modified === undefined ? {} : { 'x-oc-mtime': String(Date.parse(modified) / 1000) }
  const address = `/write?path=${encodeURIComponent(path)}`
  const { status } = await user.fetch(address, { method: 'PUT', headers, body })
  if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
}

/** Waits until a plugin has read all files of a user. */
async function isRead(user: TestUser, plugin: 'previews' | 'search'): Promise<void> {
  for (;;) {
    const answer = await user.fetch(`/api/${plugin}/status`)
    if (((await answer.json()) as { isComplete: boolean }).isComplete) return
    await delay(50)
  }
}

/** A JPEG of one color, which the browser makes. */
async function picture(
  page: Page,
  { width, height, color }: { width: number; height: number; color: string },
): Promise<Buffer> {
  const bytes = await page.evaluate<number[]>(`new Promise((resolve) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: ${width}, height: ${height} })
    const context = canvas.getContext('2d')
    context.fillStyle = '${color}'
    context.fillRect(0, 0, ${width}, ${height})
    canvas.toBlob(async (blob) => resolve([...new Uint8Array(await blob.arrayBuffer())]), 'image/jpeg')
  })`)
  return Buffer.from(bytes)
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}
