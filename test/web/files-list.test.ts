import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { chooseNew } from './fixtures/frame.ts'

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  /** The entries of the folder. */
  readonly grid: Locator
  /** Opens a folder. */
  open(folder: string): Promise<void>
}

/** A phone, as browsers of desktops imitate it. */
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

t.test('the entries of a folder', { skip: needsChromium, jobs: 2 }, async (t) => {
  const plugins = { files: true, 'storage-local': true, previews: true, search: true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const browser = await startChromium(t)
  const test = (
    name: string,
    run: (t: Test, scene: Scene) => Promise<void>,
    options: BrowserContextOptions = {},
  ) =>
    t.test(name, async (t) => {
      const ada = await node.signIn()
      const context = await browser.newContext({ locale: 'en-US', ...options })
      t.teardown(() => context.close())
      context.setDefaultTimeout(60_000)
      await context.addCookies([{ name: 'session', value: ada.token, url: node.url.href, sameSite: 'Lax' }])
      const page = await context.newPage()
      const faults: string[] = []
      page.on('pageerror', ({ message }) => faults.push(message))
      page.on('console', (line) => {
        if (/Content.Security.Policy|Trusted/i.test(line.text())) faults.push(line.text())
      })
      const open = async (folder: string) => {
        await page.goto(new URL(`/#/files${folder}`, node.url).href)
        await page.locator('.rows[aria-busy=false]').waitFor()
      }
      await run(t, { page, ada, grid: page.getByRole('grid'), open })
      t.equal(await page.evaluate('window.__xss'), undefined, 'nothing that was stored has run')
      t.strictSame(faults, [])
    })

  test('the headings sort, folders first, and the browser keeps it', async (t, { page, ada, grid, open }) => {
    await put(ada, '/b/inside.txt', 'x', '2020-01-01')
    await put(ada, '/a/inside.txt', 'x', '2020-01-01')
    await put(ada, '/photo 10.jpg', 'largest of all', '2024-05-05')
    await put(ada, '/photo 9.jpg', 'large', '2026-01-01')
    await put(ada, '/Notes.txt', 'x', '2025-03-03')
    await open('')
    const heading = (name: string) => grid.getByRole('columnheader', { name })
    t.strictSame(await namesIn(page), ['a', 'b', 'Notes.txt', 'photo 9.jpg', 'photo 10.jpg'])
    t.equal(await heading('Name').getAttribute('aria-sort'), 'ascending')
    await heading('Size').getByRole('button').click()
    t.strictSame(await namesIn(page), ['a', 'b', 'photo 10.jpg', 'photo 9.jpg', 'Notes.txt'])
    t.equal(await heading('Size').getAttribute('aria-sort'), 'descending')
    await heading('Size').getByRole('button').click()
    t.strictSame((await namesIn(page)).slice(2), ['Notes.txt', 'photo 9.jpg', 'photo 10.jpg'])
    await heading('Kind').getByRole('button').click()
    t.strictSame((await namesIn(page)).slice(2), ['photo 9.jpg', 'photo 10.jpg', 'Notes.txt'])
    await row(page, 'Notes.txt').click({ position: aside })
    await heading('Changed').getByRole('button').click()
    t.strictSame((await namesIn(page)).slice(2), ['photo 9.jpg', 'Notes.txt', 'photo 10.jpg'])
    t.strictSame(await selectedIn(page), ['Notes.txt'], 'the selection stays')
    await page.reload()
    await row(page, 'Notes.txt').waitFor()
    t.strictSame((await namesIn(page)).slice(2), ['photo 9.jpg', 'Notes.txt', 'photo 10.jpg'])

    await page.getByRole('button', { name: 'Show as a grid' }).click()
    await page.getByRole('button', { name: 'Sort', exact: true }).click()
    const chosen = page.getByRole('menuitemradio', { checked: true })
    t.equal(await chosen.innerText(), 'Newest first')
    await page.getByRole('menuitemradio', { name: 'Oldest first' }).click()
    t.strictSame((await namesIn(page)).slice(2), ['photo 10.jpg', 'Notes.txt', 'photo 9.jpg'])
  })

  test('the grid shows pictures, and the arrow keys lead through it', async (t, {
    page,
    ada,
    grid,
    open,
  }) => {
    await open('')
    await putPicture(page, '/trip/picture 1.png')
    for (let n = 2; n <= 30; n += 1) await put(ada, `/trip/picture ${n}.png`, 'no picture')
    await put(ada, '/trip/folder/a.txt', 'a')
    await open('/trip')
    await page.getByRole('button', { name: 'Show as a grid' }).click()
    const tiles = grid.getByRole('gridcell')
    await tiles.nth(5).waitFor()
    await page.getByRole('img', { name: 'Preview of picture 1.png' }).waitFor()
    await untilTrue(page, "document.querySelector('.tile img').naturalWidth > 0")
    const columns = Number(await grid.getAttribute('aria-colcount'))
    t.ok(columns >= 4, `several beside each other: ${columns}`)
    await grid.focus()
    await grid.press('ArrowRight')
    t.strictSame(await selectedIn(page), ['picture 1.png'])
    await grid.press('ArrowDown')
    t.strictSame(await selectedIn(page), [`picture ${columns + 1}.png`])
    await grid.press('Shift+ArrowRight')
    t.equal((await selectedIn(page)).length, 2)
    await grid.press('ArrowUp')
    t.strictSame(await selectedIn(page), ['picture 2.png'])
    await grid.press('End')
    t.strictSame(await selectedIn(page), ['picture 30.png'])
    const active = `#${await grid.getAttribute('aria-activedescendant')}`
    t.equal(await page.locator(active).getByRole('link').innerText(), 'picture 30.png')
    await page.reload()
    await tiles.first().waitFor()
    await grid.focus()
    await grid.press('Home')
    await grid.press('Enter')
    await page.getByRole('link', { name: 'a.txt' }).waitFor()
    t.equal(await page.title(), 'folder · Nodekeep')
    await grid.press('Alt+ArrowUp')
    await tile(page, 'picture 1.png').waitFor()
    await page.getByRole('button', { name: 'Show as a list' }).click()
    await row(page, 'picture 1.png').waitFor()
  })

  test('a right click, a key and a button show what can be done', async (t, { page, ada, grid, open }) => {
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await put(ada, `/${name}`, name)
    await put(ada, '/to/x.txt', 'x')
    await open('')
    const menu = page.getByRole('menu')
    const lines = () => menu.getByRole('menuitem').locator('> span:first-of-type').allTextContents()
    await row(page, 'a.txt').click({ button: 'right' })
    await menu.waitFor()
    t.strictSame(await selectedIn(page), ['a.txt'])
    const some = ['Open', 'Download', 'Rename', 'Move', 'Copy', 'Versions', 'Details', 'Delete']
    t.strictSame(await lines(), some)
    await page.keyboard.press('Escape')
    await menu.waitFor({ state: 'detached' })
    await page.locator('.rows:focus').waitFor()
    await grid.press('Shift+ArrowDown')
    await grid.press('Shift+F10')
    t.strictSame(await lines(), ['Download', 'Move', 'Copy', 'Details', 'Delete'])
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.getByText('Moved 2 entries to the trash.').waitFor()
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await row(page, 'a.txt').waitFor()

    await row(page, 'c.txt').getByRole('button', { name: 'More: c.txt' }).click()
    await menu.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByLabel('New name').waitFor()
    await page.keyboard.type('renamed')
    await page.keyboard.press('Enter')
    await row(page, 'renamed.txt').waitFor()

    const { x, y, height } = (await row(page, 'to').boundingBox()) ?? { x: 0, y: 0, height: 0 }
    await page.mouse.click(x + 50, y + 6 * height, { button: 'right' })
    const ofFolder = [
      'New folder',
      'New text',
      'Upload files',
      'Upload a folder',
      'Select all',
      'Details',
      'Keys',
    ]
    t.strictSame(await lines(), ofFolder)
    await menu.getByRole('menuitem', { name: 'Select all' }).click()
    await page.getByText('4 of 4 selected', { exact: true }).waitFor()
    await page
      .getByRole('group', { name: 'Selected entries' })
      .getByRole('button', { name: 'Select nothing' })
      .click()
    t.strictSame(await selectedIn(page), [])
  })

  test('entries are dragged onto folders, and files of the device too', async (t, { page, ada, open }) => {
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await put(ada, `/trip/${name}`, name)
    await put(ada, '/trip/to/x.txt', 'x')
    await open('/trip')
    await row(page, 'a.txt').click({ position: aside })
    await row(page, 'b.txt').click({ modifiers: ['Control'], position: aside })
    await row(page, 'a.txt').getByRole('link').dragTo(row(page, 'to'))
    await page.getByText('Moved 2 entries.').waitFor()
    await row(page, 'b.txt').waitFor({ state: 'detached' })
    t.equal(await contentOf(ada, '/trip/to/a.txt'), 'a.txt')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await row(page, 'b.txt').waitFor()

    // An entry that is not selected is dragged alone, with Ctrl as a copy, and onto a name of the path.
    await row(page, 'c.txt').hover()
    await page.mouse.down()
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Files' }).hover()
    await page.keyboard.down('Control')
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Files' }).hover()
    await page.mouse.up()
    await page.keyboard.up('Control')
    await page.getByText('Copied "c.txt".').waitFor()
    t.equal(await contentOf(ada, '/c.txt'), 'c.txt')
    t.equal(await contentOf(ada, '/trip/c.txt'), 'c.txt')

    // A folder does not take itself, nor what is in it already.
    await row(page, 'to').dragTo(row(page, 'to'))
    await row(page, 'c.txt').dragTo(page.getByRole('heading', { name: 'trip' }))
    t.equal((await ada.fetch('/stat?path=/trip/to')).status, 200)

    const folder = t.testdir({ 'device.txt': 'of the device' })
    const cdp = await page.context().newCDPSession(page)
    const data = { items: [], files: [join(folder, 'device.txt')], dragOperationsMask: 1 }
    const { x, y, width, height } = (await row(page, 'to').boundingBox()) ?? {
      x: 0,
      y: 0,
      width: 0,
      height: 0,
    }
    const place = { x: x + width / 2, y: y + height / 2, data }
    for (const type of ['dragEnter', 'dragOver'] as const)
      await cdp.send('Input.dispatchDragEvent', { type, ...place })
    await page.getByText('Drop files and folders to upload them into "to"').waitFor()
    await cdp.send('Input.dispatchDragEvent', { type: 'drop', ...place })
    await page.getByText('Uploaded "device.txt".').waitFor()
    t.equal(await contentOf(ada, '/trip/to/device.txt'), 'of the device')
  })

  test(
    'the keys of the clipboard copy, move and paste, also a picture',
    async (t, { page, ada, grid, open }) => {
      for (const name of ['a.txt', 'b.txt']) await put(ada, `/${name}`, name)
      await put(ada, '/to/x.txt', 'x')
      await open('')
      await row(page, 'a.txt').click({ position: aside })
      await grid.press('Control+c')
      await grid.press('Control+v')
      await row(page, 'a (2).txt').waitFor()
      await row(page, 'b.txt').click({ position: aside })
      await grid.press('Control+x')
      await page.locator('.row.cut').waitFor()
      await open('/to')
      await grid.focus()
      await grid.press('Control+v')
      await row(page, 'b.txt').waitFor()
      t.equal((await ada.fetch('/stat?path=/b.txt')).status, 404)
      await grid.press('Control+v')
      await page.evaluate('new Promise(requestAnimationFrame)')
      await page.getByText('Moved "b.txt".').waitFor()
      await grid.press('Control+z')
      await page.getByText('Undone:').waitFor()
      await row(page, 'b.txt').waitFor({ state: 'detached' })
      t.equal(await contentOf(ada, '/b.txt'), 'b.txt')

      await page.evaluate(`(async () => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 9, height: 9 })
        const picture = await new Promise((resolve) => canvas.toBlob(resolve))
        await navigator.clipboard.write([new ClipboardItem({ 'image/png': picture })])
      })()`)
      await grid.press('Control+v')
      await page.getByRole('link', { name: /^Pasted \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/ }).waitFor()
    },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  )

  test('details tell what is selected', async (t, { page, ada, grid, open }) => {
    await put(ada, '/trip/a.txt', 'old')
    await put(ada, '/trip/a.txt', 'newer')
    await put(ada, '/trip/<img src=x onerror=window.__xss=1>/b.txt', '12')
    await open('/trip')
    await page.getByRole('button', { name: 'Details', exact: true }).click()
    const details = page.getByRole('complementary', { name: 'Details' })
    await details.getByRole('heading', { name: 'trip' }).waitFor()
    await details.getByText(/^7 B in 3 entries/).waitFor()
    await details.getByText('Recent changes').waitFor()
    await row(page, 'a.txt').click({ position: aside })
    await details.getByRole('heading', { name: 'a.txt' }).waitFor()
    const fact = (name: string) => details.locator(`dt:text-is("${name}") + dd`)
    t.equal(await fact('Kind').innerText(), 'Text')
    t.equal(await fact('Size').innerText(), '5 B')
    await fact('Changed').getByText('by you, from test').waitFor()
    await fact('Versions').getByText('1', { exact: true }).waitFor()
    await details.getByText('/trip/a.txt').waitFor()
    await grid.press('ArrowUp')
    await fact('Size').getByText('2 B in 1 entry').waitFor()
    await grid.press('Control+a')
    await details.getByRole('heading', { name: '2 selected' }).waitFor()
    await grid.press('Escape')
    await page.reload()
    await details.getByRole('heading', { name: 'trip' }).waitFor()
    await details.getByRole('button', { name: 'Close the details' }).click()
    await details.waitFor({ state: 'detached' })
    await page.locator('.rows:focus').waitFor()
  })

  test('an empty folder shows the next steps', async (t, { page, ada, open }) => {
    await open('')
    await page.getByText('Nothing is here yet').waitFor()
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Upload files' }).click(),
    ])
    t.ok(chooser.isMultiple())
    await chooseNew(page, 'New text')
    await page.getByLabel('Name of the text').waitFor()
    await page.keyboard.type('Shopping')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('heading', { name: 'Shopping.txt' }).waitFor()
    t.equal(await contentOf(ada, '/Shopping.txt'), '')
    await untilTrue(page, "document.activeElement.ariaLabel === 'Text of Shopping.txt'")
    await page.getByText('Made the text "Shopping.txt".').waitFor()
    await page.keyboard.type('plums')
    await page.getByText('Made the text "Shopping.txt".').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+s')
    await page.getByText('Saved.').waitFor()
    t.equal(await contentOf(ada, '/Shopping.txt'), 'plums')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await chooseNew(page, 'New text')
    await page.getByLabel('Name of the text').fill('Shopping.txt')
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog')
      .getByRole('alert')
      .getByText('Something of this name is there already.')
      .waitFor()
  })

  test('a destination can be a new folder', async (t, { page, ada, open }) => {
    await put(ada, '/a.txt', 'a')
    await put(ada, '/to/x.txt', 'x')
    await open('')
    await row(page, 'a.txt').click({ position: aside })
    await page.getByRole('button', { name: 'Move', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Move "a.txt" to' })
    await dialog.getByRole('button', { name: 'to', exact: true }).click()
    await dialog.getByText('There are no folders here.').waitFor()
    await dialog.getByRole('button', { name: 'New folder' }).click()
    await page.getByLabel('Name of the folder').fill('../b')
    await page.keyboard.press('Enter')
    await page.getByText('A name cannot be empty').waitFor()
    await page.getByLabel('Name of the folder').fill('made')
    await page.keyboard.press('Enter')
    await dialog.getByText('/to/made').waitFor()
    await dialog.getByRole('button', { name: 'Move here' }).click()
    await page.getByText('Moved "a.txt".').waitFor()
    t.equal(await contentOf(ada, '/to/made/a.txt'), 'a')
  })

  test('a person finds the way: keys, the folder above, and the folder of what was found', async (t, scene) => {
    const { page, ada, grid, open } = scene
    for (let n = 0; n < 100; n += 1) await put(ada, `/folder ${n}/a.txt`, 'x')
    await put(ada, '/folder 50/cake.txt', 'x')
    await isFound(ada, 'cake')
    await open('/folder 90')
    await grid.focus()
    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keys' })
    await keys.getByText('Take back the last change').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.rows:focus').waitFor()
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Files' }).click()
    await page.locator('.row.active').getByText('folder 90').waitFor()
    t.strictSame(await selectedIn(page), [], 'the keyboard is there, and nothing is selected')

    await page.getByRole('searchbox').fill('cake')
    await page.getByRole('link', { name: '/folder 50', exact: true }).click()
    await row(page, 'cake.txt').waitFor()
    t.strictSame(await selectedIn(page), ['cake.txt'])
    t.equal(await page.title(), 'folder 50 · Nodekeep')
  })

  test(
    'on a phone, a tap opens, a long press shows what can be done, and a box selects',
    async (t, { page, ada, open }) => {
      await put(ada, '/trip/a.txt', 'content of a')
      await put(ada, '/trip/b.txt', 'b')
      await open('')
      await row(page, 'trip').tap()
      await row(page, 'a.txt').waitFor()
      await row(page, 'a.txt').tap()
      await page.getByRole('dialog').getByText('content of a').waitFor()
      await page.goBack()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      t.strictSame(await selectedIn(page), [])

      const cdp = await page.context().newCDPSession(page)
      const { x, y } = (await row(page, 'b.txt').boundingBox()) ?? { x: 0, y: 0 }
      const touchPoints = [{ x: x + 150, y: y + 30 }]
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
      await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
      await page.getByRole('menuitem', { name: 'Rename' }).tap()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).tap()
      await row(page, 'a.txt').getByRole('button', { name: 'More: a.txt' }).tap()
      await page.getByRole('menuitem', { name: 'Details' }).tap()
      const details = page.getByRole('dialog', { name: 'Details' })
      await details.getByRole('heading', { name: 'a.txt' }).waitFor()
      await details.getByRole('button', { name: 'Close' }).tap()
      await details.waitFor({ state: 'detached' })
      t.strictSame(await selectedIn(page), [], 'a menu acts on its entry, and selects nothing')
      await row(page, 'b.txt').getByRole('checkbox').tap()
      await row(page, 'a.txt').tap()
      await page.getByText('2 of 2 selected').waitFor()
      const bar = page.getByRole('group', { name: 'Selected entries' })
      t.equal((await bar.boundingBox())?.width, 390)
      await bar.getByRole('button', { name: 'Delete' }).tap()
      await page.getByText('Moved 2 entries to the trash.').waitFor()
      // The list follows the notice.
      await row(page, 'b.txt').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Undo', exact: true }).tap()
      await row(page, 'b.txt').waitFor()
      await row(page, 'b.txt').getByRole('checkbox').tap()
      await page.getByText('1 of 2 selected').waitFor()
      await bar.getByRole('button', { name: 'Select nothing' }).tap()
      await page.getByRole('button', { name: 'New', exact: true }).tap()
      await page.getByRole('menuitem', { name: 'New folder' }).tap()
      await page.getByLabel('Name of the folder').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).tap()
      await page.getByRole('link', { name: 'Up' }).tap()
      await row(page, 'trip').waitFor()
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    },
    phone,
  )

  test(
    'on a phone, taps select in the trash, and a long press shows what can be done',
    async (t, { page, ada }) => {
      for (const name of ['a.txt', 'b.txt', 'c.txt']) {
        await put(ada, `/${name}`, 'x')
        const headers = { 'content-type': 'application/json' }
        await ada.fetch('/delete', { method: 'POST', headers, body: JSON.stringify({ path: `/${name}` }) })
      }
      await page.goto(new URL('/#/trash', node.url).href)
      const items = page.getByRole('grid', { name: 'Deleted files and folders' }).locator('[data-index]')
      const item = (name: string) => items.filter({ has: page.getByText(name, { exact: true }) })
      await items.nth(2).waitFor()
      t.equal((await items.first().boundingBox())?.height, 60)
      await item('a.txt').tap()
      await item('b.txt').tap()
      await page.getByText('2 of 3 selected').waitFor()
      const bar = page.getByRole('group', { name: 'Selected entries' })
      const tops = await bar
        .getByRole('button')
        .evaluateAll((buttons) => buttons.map((one) => one.getBoundingClientRect().top))
      t.equal(new Set(tops).size, 1, 'all actions stand on one line')
      const end = await page.getByRole('grid').evaluate((grid) => grid.getBoundingClientRect().bottom)
      t.ok(end <= ((await bar.boundingBox())?.y ?? 0), 'the bar covers no item')
      await bar.getByRole('button', { name: 'Restore', exact: true }).tap()
      await page.getByText('2 entries are back.').waitFor()
      await bar.waitFor({ state: 'detached' })
      for (const name of ['a.txt', 'b.txt']) t.equal(await contentOf(ada, `/${name}`), 'x')

      const cdp = await page.context().newCDPSession(page)
      const { x, y } = (await item('c.txt').boundingBox()) ?? { x: 0, y: 0 }
      const touchPoints = [{ x: x + 150, y: y + 30 }]
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
      await page.getByRole('menuitem', { name: 'Details' }).waitFor()
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
      await page.getByRole('menuitem', { name: 'Details' }).tap()
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).tap()
      await page.getByText('It is back, as /c.txt').waitFor()
      await page.getByRole('status').getByText('The trash is empty.').waitFor()
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    },
    phone,
  )
})

/** A point of a row beside its link and its box. */
const aside = { x: 400, y: 5 }

/** The row of an entry whose name is a text with an extension, or begins with one without. */
function row(page: Page, name: string): Locator {
  return ofEntry(page.locator('.body').getByRole('row'), page, name)
}

function tile(page: Page, name: string): Locator {
  return ofEntry(page.locator('.body').getByRole('gridcell'), page, name)
}

function ofEntry(all: Locator, page: Page, name: string): Locator {
  return all.filter({ has: page.getByRole('link', { name, exact: true }) })
}

function namesIn(page: Page): Promise<string[]> {
  return page.locator('.body a').allTextContents()
}

function selectedIn(page: Page): Promise<string[]> {
  return page.locator('.body [aria-selected=true] a').allTextContents()
}

/** @param date the time of the file, of ISO 8601 */
async function put(user: TestUser, path: string, content: string, date?: string): Promise<void> {
  const headers = date === undefined ? {} : { 'x-oc-mtime': String(Date.parse(date) / 1000) }
  const address = `/write?path=${encodeURIComponent(path)}`
  const { status } = await user.fetch(address, { method: 'PUT', headers, body: content })
  if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
}

async function putPicture(page: Page, path: string): Promise<void> {
  const draw = `new Promise((resolve) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 })
    canvas.getContext('2d').fillRect(0, 0, 99, 99)
    canvas.toBlob(resolve)
  })`
  const address = JSON.stringify(`/write?path=${encodeURIComponent(path)}`)
  const isStored = await page.evaluate(
    `${draw}.then((body) => fetch(${address}, { method: 'PUT', body })).then(({ ok }) => ok)`,
  )
  if (isStored !== true) throw new Error(`${path} was not stored.`)
}

/** Waits until the node finds something. */
async function isFound(user: TestUser, text: string): Promise<void> {
  for (;;) {
    const { entries } = (await (await user.fetch(`/api/search?q=${text}`)).json()) as { entries: unknown[] }
    if (entries.length > 0) return
    await delay(20)
  }
}

async function contentOf(user: TestUser, path: string): Promise<string> {
  return (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
}
