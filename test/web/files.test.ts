import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { unzipSync } from 'fflate'
import type { Browser, Locator, Page, Request } from 'playwright-core'
import t, { type Test } from 'tap'
import { answerOnce, answerRequests } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { memoryGrowth } from './browser-memory.ts'
import { chooseInPersonMenu, chooseNew, openPage } from './fixtures/frame.ts'

/** Long, since other tests may use both processors. */
const timeout = 60_000

/** Bytes of the largest file that the node of these tests takes. */
const maxFileSize = 250_000_000

/** A point of a row beside its link and its box. */
const aside = { x: 400, y: 5 }

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  /** The rows of the list. */
  readonly grid: Locator
  /** The field for files. */
  readonly chooser: Locator
}

t.test('the page of files', { skip: needsChromium, jobs: 3 }, async (t) => {
  const plugins = {
    files: true,
    'file-sync': true,
    'stored-check': true,
    'storage-local': true,
    uploads: true,
    web: true,
  }
  const config = { plugins, storage: { maxFileSize } }
  const node = await createTestNode({ config, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const browser = await startChromium(t)
  type Prepare = (ada: TestUser) => Promise<void>
  /** @param prepare makes the files that are there before the page is opened */
  const test = (name: string, run: (t: Test, scene: Scene) => Promise<void>, prepare?: Prepare) =>
    t.test(name, async (t) => {
      const ada = await node.signIn()
      await prepare?.(ada)
      const { scene, faults } = await openFiles(t, node, browser, ada)
      await run(t, scene)
      t.equal(await scene.page.evaluate('window.__xss'), undefined, 'nothing that was stored has run')
      t.strictSame(faults, [])
    })

  // Alone, since the others take memory, too.
  await test('an upload of 100 MB takes no memory of the page, and can be cancelled', async (t, scene) => {
    const { page, ada, chooser } = scene
    const folder = t.testdir({ 'large.bin': '', 'other.bin': '' })
    const size = 100_000_000
    await truncate(join(folder, 'large.bin'), size)
    await truncate(join(folder, 'other.bin'), size)
    const grown = await memoryGrowth(browser, async () => {
      await chooser.setInputFiles(join(folder, 'large.bin'))
      await page.getByText('(1/1)').waitFor({ timeout: 2 * timeout })
    })
    t.comment(`The peak memory of the processes of the browser grew by ${Math.round(grown / 1e6)} MB.`)
    t.ok(grown < size / 2)
    t.equal((await statOf(ada, '/large.bin')).size, size)
    const isPiece = (request: Request) => request.method() === 'PATCH'
    await page.route('**/api/files/uploads/*', (route) => {
      if (!isPiece(route.request())) return route.continue()
    })
    await chooser.setInputFiles(join(folder, 'other.bin'))
    await page.getByRole('button', { name: /^Uploads and changes/ }).click()
    await page.getByRole('button', { name: 'Cancel: other.bin' }).click()
    await page.getByText('Canceled').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Uploads and changes').waitFor({ state: 'detached' })

    const dialog = page.getByRole('dialog')
    const [sent] = await Promise.all([
      page.waitForRequest(isPiece),
      chooser.setInputFiles(join(folder, 'other.bin')),
    ])
    await page.getByRole('button', { name: /^Uploads and changes/ }).click()
    await chooseInPersonMenu(page, 'Sign out')
    await dialog.getByText('It is canceled if you sign out.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel: other.bin' }).waitFor()
    await chooseInPersonMenu(page, 'Sign out')
    const [ended] = await Promise.all([
      page.waitForEvent('requestfailed', isPiece),
      dialog.getByRole('button', { name: 'Sign out' }).click(),
    ])
    t.equal(ended, sent)
    await page.getByText('You are signed out.').waitFor()
    t.equal((await ada.fetch('/stat?path=/other.bin')).status, 401)
  })

  test('files and folders are dropped, and keep their times', async (t, { page, ada }) => {
    const folder = t.testdir({
      trip: { 'a.txt': 'a', deep: { 'b.txt': 'b' }, empty: {} },
      chosen: { 'd.txt': 'd' },
      'c <U+202E>‮.txt': 'c',
    })
    const cdp = await page.context().newCDPSession(page)
    const data = {
      items: [],
      files: ['trip', 'c <U+202E>‮.txt'].map((name) => join(folder, name)),
      dragOperationsMask: 1,
    }
    for (const type of ['dragEnter', 'dragOver'] as const)
      await cdp.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data })
    await page.getByText('Drop files and folders to upload them here').waitFor()
    await cdp.send('Input.dispatchDragEvent', { type: 'drop', x: 300, y: 300, data })
    await page.getByText('(3/3)').waitFor()
    await row(page, 'trip').waitFor()
    t.equal(await contentOf(ada, '/trip/deep/b.txt'), 'b')
    // A folder without files is not among the counted uploads.
    while ((await statOf(ada, '/trip/empty')).type !== 'directory') await delay(20)
    t.equal(await contentOf(ada, '/c <U+202E>‮.txt'), 'c')
    await row(page, 'c <U+202E><U+202E>.txt').waitFor()
    const { modified } = await statOf(ada, '/trip/a.txt')
    t.ok(Math.abs(Date.parse(modified) - (await stat(join(folder, 'trip/a.txt'))).mtimeMs) < 2000)
    // Chromium tells 1601 for a file of 1970, as Chrome on Android does for every file.
    await utimes(join(folder, 'chosen/d.txt'), 0, 0)
    await page.locator('input[type=file]').last().setInputFiles(join(folder, 'chosen'))
    await row(page, 'chosen').waitFor()
    await page.getByText('(4/4)').waitFor()
    t.equal(await contentOf(ada, '/chosen/d.txt'), 'd')
    const chosen = Date.parse((await statOf(ada, '/chosen/d.txt')).modified)
    t.ok(Math.abs(Date.now() - chosen) < 5 * timeout, 'without a time, the file has that of its upload')
  })

  test('a folder is compared with the node, and only what is missing is uploaded', async (t, scene) => {
    const { page, ada } = scene
    const large = randomBytes(20_000_000)
    const folder = t.testdir({
      card: { 'a.jpg': 'a', 'cut.jpg': 'whole', deep: { 'b.jpg': 'b' }, empty: {} },
    })
    await writeFile(join(folder, 'card/large.bin'), large)
    const put = (path: string, body: string | Buffer<ArrayBuffer>) =>
      ada.fetch(`/write?path=${path}`, { method: 'PUT', body })
    await put('/of-last-year.jpg', 'a')
    await put('/cut.jpg', 'who')
    await put('/large.bin', large)
    await chooseNew(page, 'Is it all here?')
    const dialog = page.getByRole('dialog', { name: 'Is it all here?' })
    await dialog.getByText('Nothing is uploaded by this.').waitFor()
    const cdp = await page.context().newCDPSession(page)
    const data = { items: [], files: [join(folder, 'card')], dragOperationsMask: 1 }
    // Also beside the dialog, nothing is uploaded.
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await cdp.send('Input.dispatchDragEvent', { type, x: 10, y: 300, data })
    await dialog
      .getByText('2 of 4 are stored, but in no backup that was tried out. These 2 are not stored.')
      .waitFor()
    const missing = dialog.getByRole('list', { name: 'Files that are not stored' })
    await missing.getByText('Only a part of it may be here: /cut.jpg is shorter.').waitFor()
    await missing.getByText('It is not on the node.').waitFor()
    t.equal(await missing.getByRole('listitem').count(), 2)
    t.equal((await ada.fetch('/stat?path=/card')).status, 404)

    await dialog.getByRole('button', { name: 'Upload what is missing' }).click()
    await page.getByRole('button', { name: 'Upload here' }).click()
    await page.getByText('(2/2)').waitFor()
    t.equal(await contentOf(ada, '/card/deep/b.jpg'), 'b')
    t.equal(await contentOf(ada, '/card/cut.jpg'), 'whole')
    t.equal((await ada.fetch('/stat?path=/card/a.jpg')).status, 404)

    await chooseNew(page, 'Is it all here?')
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      dialog.getByRole('button', { name: 'Choose a folder' }).click(),
    ])
    await chooser.setFiles(join(folder, 'card'))
    await dialog.getByText('All 4 are stored, but in no backup that was tried out.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  test('a check is paused, goes on and is canceled', async (t, { page }) => {
    await chooseNew(page, 'Is it all here?')
    const dialog = page.getByRole('dialog', { name: 'Is it all here?' })
    const choose = dialog.getByLabel('Choose files').last()
    const folder = t.testdir({ 'large.bin': '' })
    await truncate(join(folder, 'large.bin'), 2_000_000_000)
    await choose.setInputFiles(join(folder, 'large.bin'))
    await dialog.getByRole('button', { name: 'Pause' }).click()
    const progress = dialog.getByRole('progressbar')
    await dialog.getByRole('button', { name: 'Go on' }).waitFor()
    t.ok(Number(await progress.getAttribute('value')) < 1)
    await dialog.getByRole('button', { name: 'Go on' }).click()
    await dialog.getByRole('button', { name: 'Pause' }).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.getByText('Nothing is uploaded by this.').waitFor()
  })

  test('an entry that cannot be read costs only itself, and is named', async (t, { page, ada }) => {
    await page.evaluate(`{
      const fails = (resolve, reject) => reject(new DOMException('', 'NotReadableError'))
      const file = (name) => ({ name, isFile: true, file: (resolve) => resolve(new File([name], name)) })
      const folder = (name, ...answers) => ({
        name,
        isFile: false,
        createReader: () => ({
          readEntries(resolve, reject) {
            const answer = answers.shift() ?? []
            if (answer === 'fails') fails(resolve, reject)
            else resolve(answer)
          },
        }),
      })
      const entries = [
        folder('locked', 'fails'),
        file('a.txt'),
        folder('trip', [file('b.txt'), folder('deep', 'fails'), file('c.txt')], 'fails'),
        { name: 'gone.txt', isFile: true, file: fails },
        file('d.txt'),
      ]
      const items = entries.map((entry) => ({ webkitGetAsEntry: () => entry }))
      const event = new Event('drop', { bubbles: true, cancelable: true })
      Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items } })
      document.body.dispatchEvent(event)
    }`)
    await page.getByText('(4/8)').waitFor()
    const failed = page.locator('.tasks li', { hasText: 'Your browser cannot read this.' })
    await failed.nth(3).waitFor()
    const names = await failed.locator('.name').allTextContents()
    t.strictSame(names.sort(), ['gone.txt', 'locked', 'trip', 'trip/deep'])
    t.equal(await failed.getByRole('button').count(), 0, 'the page cannot try again')
    for (const name of ['a.txt', 'trip/b.txt', 'trip/c.txt', 'd.txt'])
      t.equal(await contentOf(ada, `/${name}`), name.slice(-5))
  })

  test('a selection is downloaded whole, as one archive', async (t, { page, ada, grid }) => {
    const names = Array.from({ length: 33 }, (_, n) => `photo ${n} "é\n.jpg`)
    await Promise.all(names.map((name) => put(ada, `/trip/${name}`, name)))
    await put(ada, '/trip/more/z.txt', 'z')
    await put(ada, '/trip/alone.txt', 'alone')
    const button = page.getByRole('button', { name: 'Download' })
    const download = async () => (await Promise.all([page.waitForEvent('download'), button.click()]))[0]
    await row(page, 'trip').getByRole('link').click()
    await row(page, 'alone.txt').click({ position: aside })
    const one = await download()
    t.equal(one.suggestedFilename(), 'alone.txt')
    t.equal(await readFile(await one.path(), 'utf8'), 'alone')

    await grid.press('Control+a')
    const all = await download()
    t.equal(all.suggestedFilename(), 'trip.zip')
    const unpacked = unzipSync(await readFile(await all.path()))
    const expected = ['more/', 'more/z.txt', 'alone.txt', ...names]
    t.strictSame(Object.keys(unpacked).sort(), expected.sort())
    for (const name of names) t.equal(Buffer.from(unpacked[name] as Uint8Array).toString(), name)
    t.equal((await download()).suggestedFilename(), 'trip.zip')
    t.equal(await page.locator('iframe').count(), 1, 'the frame of the former download is gone')

    // As if something of the selection had gone meanwhile.
    const postData = String(new URLSearchParams({ paths: '["/trip/alone.txt","/trip/gone.txt"]' }))
    await answerOnce(page, '**/api/files/archive', (route) => route.continue({ postData }))
    await button.click()
    await page.getByText('gone.txt').waitFor()
    await answerOnce(page, '**/api/files/archive', (route) => route.abort())
    await button.click()
    await page.getByText('The node did not answer. Try again.').waitFor()
    // The frames of failed downloads are gone.
    await page.locator('iframe').first().waitFor({ state: 'detached' })
    await row(page, 'alone.txt').waitFor()
  })

  test('keys select, rename, open and delete', async (t, { page, ada, grid }) => {
    for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) await put(ada, `/${name}`, `content of ${name}`)
    await put(ada, '/folder/inside.txt', 'x')
    await row(page, 'folder').waitFor()
    const selected = async () => (await grid.locator('[aria-selected=true] a').allTextContents()).join()
    await grid.focus()
    await grid.press('ArrowDown')
    t.equal(await selected(), 'folder')
    await grid.press('ArrowDown')
    await grid.press('Shift+ArrowDown')
    t.equal(await selected(), 'a.txt,b.txt')
    await grid.press('Control+End')
    await grid.press(' ')
    t.equal(await selected(), 'a.txt,b.txt,d.txt')
    await page.getByText('3 of 5 selected').waitFor()
    await grid.press('Control+a')
    t.equal(await selected(), 'folder,a.txt,b.txt,c.txt,d.txt')
    await grid.press('Escape')
    t.equal(await selected(), '')
    await row(page, 'b.txt').click({ modifiers: ['Control'] })
    await row(page, 'd.txt').click({ modifiers: ['Shift'], position: aside })
    t.equal(await selected(), 'b.txt,c.txt,d.txt')

    await grid.press('c')
    t.equal(await selected(), 'c.txt')
    await grid.press('F2')
    await page.getByLabel('New name').fill('a.txt')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('alert').getByText('/a.txt').waitFor()
    t.equal(await page.getByLabel('New name').inputValue(), 'a.txt')
    await page.keyboard.press('Escape')
    await grid.press('F2')
    await page.keyboard.type('renamed')
    t.equal(await page.getByLabel('New name').inputValue(), 'renamed.txt', 'the extension is not selected')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(await selected(), 'renamed.txt')
    await hasFocus(page)

    await grid.press('Enter')
    await page.getByText('content of c.txt').waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await hasFocus(page)
    await grid.press('Enter')
    await page.getByText('content of c.txt').waitFor()
    await page.keyboard.press('Escape')
    await hasFocus(page)
    await grid.press('Shift+ArrowUp')
    await grid.press('Delete')
    await row(page, 'renamed.txt').waitFor({ state: 'detached' })
    await row(page, 'd.txt').waitFor({ state: 'detached' })
    await hasFocus(page)
    await grid.press('Home')
    await grid.press('Enter')
    await row(page, 'inside.txt').waitFor()
    await hasFocus(page)
    await grid.press('/')
    t.equal(await page.getByRole('searchbox').count(), 0, 'this node cannot search')
    await hasFocus(page)
  })

  test('a deletion goes to the trash at once, and is taken back', async (t, { page, ada, grid }) => {
    for (const name of ['a.txt', 'b.txt']) await put(ada, `/${name}`, name)
    await put(ada, '/trip/photo.jpg', 'photo')
    await row(page, 'trip').waitFor()
    const undo = page.getByRole('button', { name: 'Undo', exact: true })
    await row(page, 'trip').click({ position: aside })
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Moved "trip" to the trash.').waitFor()
    t.equal(await page.getByRole('dialog').count(), 0, 'nothing was asked')
    await undo.click()
    await page.getByText('Undone:').waitFor()
    t.equal(await row(page, 'trip').count(), 1, 'it is said when the list shows it')
    t.equal(await contentOf(ada, '/trip/photo.jpg'), 'photo')
    await hasFocus(page)

    await grid.press('Control+a')
    await grid.press('Delete')
    await page.getByText('Moved 3 entries to the trash.').waitFor()
    await page.getByText('This folder is empty.').waitFor()
    await hasFocus(page)
    await grid.press('Control+z')
    await page.getByText('Undone:').waitFor()
    await row(page, 'b.txt').waitFor()
    t.equal(await contentOf(ada, '/trip/photo.jpg'), 'photo')

    await row(page, 'a.txt').click({ position: aside })
    await grid.press('Delete')
    await page.getByText('Moved "a.txt" to the trash.').waitFor()
    await put(ada, '/a.txt', 'another')
    await undo.click()
    await page.getByText('Nothing was taken back: something was changed since: "/a.txt".').waitFor()
    t.equal(await undo.count(), 0)
    t.equal(await contentOf(ada, '/a.txt'), 'another')
  })

  test('moves, names, folders and uploads are taken back', async (t, { page, ada, grid, chooser }) => {
    const large = randomBytes(1_500_000)
    for (const name of ['a.txt', 'b.txt', 'large.bin']) await put(ada, `/${name}`, `old ${name}`)
    await put(ada, '/to/a.txt', 'replaced')
    await row(page, 'large.bin').waitFor()
    const undo = async (told: string) => {
      const line = page.locator('.notices')
      await line.getByText(told, { exact: true }).waitFor()
      await line.getByRole('button', { name: 'Undo' }).click()
      await line.getByText('Undone:').waitFor()
    }
    await row(page, 'a.txt').click({ position: aside })
    await row(page, 'b.txt').click({ modifiers: ['Control'] })
    await page.getByRole('button', { name: 'Move' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'to', exact: true }).click()
    await dialog.getByText('There are no folders here.').waitFor()
    await dialog.getByRole('button', { name: 'Move here' }).click()
    await decide(page, 'a.txt', 'Replace')
    await undo('Moved 2 entries.')
    const contents = await Promise.all(['/a.txt', '/b.txt', '/to/a.txt'].map((path) => contentOf(ada, path)))
    t.strictSame(contents, ['old a.txt', 'old b.txt', 'replaced'])

    await row(page, 'b.txt').click({ position: aside })
    await grid.press('F2')
    await page.keyboard.type('c')
    await page.keyboard.press('Enter')
    await undo('The name is now "c.txt".')
    await row(page, 'b.txt').waitFor()
    t.equal((await ada.fetch('/stat?path=/c.txt')).status, 404)

    await chooseNew(page, 'New folder')
    await page.getByLabel('Name of the folder').fill('made')
    await page.keyboard.press('Enter')
    await undo('Made the folder "made".')
    await row(page, 'made').waitFor({ state: 'detached' })

    await chooser.setInputFiles([
      { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('new') },
      { name: 'new.txt', mimeType: 'text/plain', buffer: Buffer.from('new') },
      { name: 'large.bin', mimeType: 'any/type', buffer: large },
    ])
    await page.getByRole('checkbox', { name: 'Do the same for all others' }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
    await page.getByText('(3/3)').waitFor()
    t.equal((await statOf(ada, '/large.bin')).size, large.length)
    await undo('Uploaded 3 entries.')
    t.equal(await contentOf(ada, '/a.txt'), 'old a.txt')
    t.equal(await contentOf(ada, '/large.bin'), 'old large.bin')
    t.equal((await ada.fetch('/stat?path=/new.txt')).status, 404)
  })

  test('versions of a file are shown, downloaded and restored', async (t, { page, ada }) => {
    for (const content of ['first <img src=x onerror=window.__xss=1>', 'second', 'third'])
      await put(ada, '/a.txt', content)
    await put(ada, '/new.txt', 'new')
    await row(page, 'new.txt').click({ position: aside })
    await page.getByRole('button', { name: 'Versions' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('There are no former contents of this file.').waitFor()
    await page.keyboard.press('Escape')
    await hasFocus(page)
    await row(page, 'a.txt').click({ position: aside })
    await page.getByRole('button', { name: 'Versions' }).click()
    await dialog.getByRole('heading', { name: 'Versions of "a.txt"' }).waitFor()
    const versions = dialog.getByRole('list', { name: 'Former contents' }).getByRole('listitem')
    await versions.nth(1).waitFor()
    t.equal(await versions.count(), 2)
    await versions.first().getByText('6 B').waitFor()
    await versions.first().getByText('you, from test').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      versions.first().getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'a.txt')
    t.equal(await readFile(await download.path(), 'utf8'), 'second')
    await versions.last().getByRole('button', { name: 'Show' }).click()
    await dialog.getByText('first <img src=x onerror=window.__xss=1>').waitFor()
    t.strictSame(await dialog.locator('button.main').allTextContents(), ['Restore'])
    await dialog.getByRole('button', { name: 'Back to the list' }).click()
    await versions
      .last()
      .getByRole('button', { name: /^Restore/ })
      .click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Restored a former content of "a.txt".').waitFor()
    await hasFocus(page)
    t.equal(await contentOf(ada, '/a.txt'), 'first <img src=x onerror=window.__xss=1>')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('Undone:').waitFor()
    t.equal(await contentOf(ada, '/a.txt'), 'third')

    await page.getByRole('button', { name: 'Versions' }).click()
    await versions.first().waitFor()
    await postJson(ada, '/delete', { path: '/a.txt' })
    await versions.first().getByRole('button', { name: 'Restore' }).click()
    await dialog.getByRole('alert').getByText('/a.txt').waitFor()
  })

  test('versions of a text are compared and deleted', async (t, { page, ada }) => {
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`)
    const old = [...lines.slice(0, 20), '<img src=x onerror=window.__xss=1>', ...lines.slice(20)]
    for (const content of [old, [...lines.slice(0, 39), 'the end'], lines])
      await put(ada, '/a.txt', content.join('\n'))
    for (const content of ['a', Buffer.from([0, 255])]) await put(ada, '/b.bin', content)
    await row(page, 'a.txt').click({ position: aside })
    await page.getByRole('button', { name: 'Versions' }).click()
    const dialog = page.getByRole('dialog', { name: 'Versions of "a.txt"' })
    const versions = dialog.getByRole('list', { name: 'Former contents' }).getByRole('listitem')
    await versions.nth(1).getByRole('button', { name: 'Compare' }).click()
    const difference = dialog.locator('.difference')
    await difference.locator('del').waitFor()
    t.equal(await difference.locator('del').textContent(), 'Removed\n- <img src=x onerror=window.__xss=1>\n')
    t.equal(await difference.locator('ins').count(), 0)
    t.equal(await difference.locator('span').count(), 6, 'three lines above and below')
    await difference.getByText('From line 18').waitFor()
    await dialog.getByLabel('Compare with').selectOption({ index: 1 })
    await difference.locator('ins').getByText('+ the end').waitFor()
    t.strictSame(await difference.locator('del').allTextContents(), [
      'Removed\n- <img src=x onerror=window.__xss=1>\n',
      'Removed\n- line 39\n',
    ])
    await dialog.getByRole('button', { name: 'Back to the list' }).click()
    await versions.nth(1).getByRole('button', { name: 'Delete' }).click()
    const question = page.getByRole('dialog', { name: 'Delete the version of' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    await versions.nth(1).getByRole('button', { name: 'Delete' }).click()
    await question.getByRole('button', { name: 'Delete for good' }).click()
    await versions.nth(1).waitFor({ state: 'detached' })
    const answer = await ada.fetch('/api/files/versions?path=/a.txt')
    const left = ((await answer.json()) as { versions: { size: number }[] }).versions
    t.strictSame(
      left.map(({ size }) => size),
      [[...lines.slice(0, 39), 'the end'].join('\n').length],
    )
    await page.keyboard.press('Escape')
    await row(page, 'b.bin').click({ position: aside })
    await page.getByRole('button', { name: 'Versions' }).click()
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('Only texts can be compared.').waitFor()
  })

  test('the trash is restored, deleted for good and emptied', async (t, { page, ada }) => {
    await put(ada, '/trip/photo.jpg', 'photo')
    await put(ada, '/trip/diary.txt', 'text')
    await postJson(ada, '/mkdir', { path: '/chosen' })
    for (const name of ['a.txt', 'b <img src=x onerror=window.__xss=1>', 'c.txt', 'd.txt'])
      await put(ada, `/${name}`, 'text')
    for (const path of [
      '/d.txt',
      '/trip/photo.jpg',
      '/trip',
      '/a.txt',
      '/b <img src=x onerror=window.__xss=1>',
      '/c.txt',
    ])
      await postJson(ada, '/delete', { path })
    await put(ada, '/a.txt', 'another')
    await openPage(page, 'Trash')
    const { list, items, item, choose } = trashIn(page)
    await items.nth(5).waitFor()
    await page.getByText('stay here for 30 days').waitFor()
    const names = await list.locator('.words > bdi').allTextContents()
    const b = 'b <img src=x onerror=window.__xss=1>'
    t.strictSame(names, ['c.txt', b, 'a.txt', 'trip', 'photo.jpg', 'd.txt'])
    const photo = item('photo.jpg')
    const bar = page.getByRole('group', { name: 'Selected entries' })
    const dialog = page.getByRole('dialog')
    await photo.getByText('/trip', { exact: true }).waitFor()
    await photo.getByText('5 B', { exact: true }).waitFor()
    await choose('photo.jpg', 'Details')
    await dialog.getByText('you, from test').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await choose('a.txt', 'Restore')
    await page.getByText('It is back, as /a (2).txt').waitFor()
    t.equal(await contentOf(ada, '/a (2).txt'), 'text')
    await bar.waitFor({ state: 'detached' })
    await photo.click({ position: aside })
    await bar.getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText('It is back, as /trip/photo.jpg').waitFor()
    t.equal(await contentOf(ada, '/trip/photo.jpg'), 'photo')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('Undone:').waitFor()
    await photo.waitFor()
    t.equal((await ada.fetch('/stat?path=/trip/photo.jpg')).status, 404)
    await choose('photo.jpg', 'Restore')
    await page.getByText('It is back, as /trip/photo.jpg').waitFor()

    await choose('d.txt', 'Restore to another folder')
    await dialog.getByRole('heading', { name: 'Restore "d.txt" to' }).waitFor()
    await dialog.getByRole('button', { name: 'chosen' }).click()
    await dialog.getByText('/chosen').waitFor()
    await dialog.getByRole('button', { name: 'Restore here' }).click()
    await page.getByText('It is back, as /chosen/d.txt').waitFor()
    t.equal(await contentOf(ada, '/chosen/d.txt'), 'text')

    await items.nth(3).waitFor({ state: 'detached' })
    await item('c.txt').click({ position: aside })
    await list.press('Shift+End')
    await page.getByText('3 of 3 selected').waitFor()
    await list.press('Delete')
    await dialog.getByRole('heading', { name: 'Delete 3 entries for good?' }).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await hasFocus(page)
    await list.press('Escape')
    await bar.waitFor({ state: 'detached' })
    await list.press('c')
    await page.getByText('1 of 3 selected').waitFor()
    await list.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'Delete for good' }).click()
    await dialog.getByRole('heading', { name: 'Delete "c.txt" for good?' }).waitFor()
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await items.nth(2).waitFor({ state: 'detached' })
    await hasFocus(page)
    await list.press('ControlOrMeta+a')
    await page.getByText('2 of 2 selected').waitFor()
    await bar.getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText('2 entries are back.').waitFor()
    t.equal(await contentOf(ada, '/trip (2)/diary.txt'), 'text', 'another folder has its name now')
    t.equal(await contentOf(ada, `/${b}`), 'text')
    await page.getByText('The trash is empty.').waitFor()
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('Undone:').waitFor()
    await items.nth(1).waitFor()
    await page.reload()
    await items.nth(1).waitFor()
    await page.getByRole('button', { name: 'Empty the trash' }).click()
    await dialog.getByRole('heading', { name: 'Delete all 2 items of the trash, 8 B, for good?' }).waitFor()
    await dialog.getByRole('button', { name: 'Empty the trash' }).click()
    await page.getByRole('status').getByText('The trash is empty.').first().waitFor()
    t.equal(await items.count(), 0)
    const { items: left } = (await (await ada.fetch('/api/files/trash')).json()) as { items: unknown[] }
    t.strictSame(left, [])
  })

  t.test('a trash of several pages is shown and counted', async (t) => {
    const ada = await node.signIn()
    const names = Array.from({ length: 102 }, (_, n) => `${n}.txt`)
    for (const name of names) {
      await put(ada, `/${name}`, 'ten bytes.')
      await postJson(ada, '/delete', { path: `/${name}` })
    }
    const { scene, faults } = await openFiles(t, node, browser, ada)
    const { page } = scene
    await page.goto(new URL('#/trash', page.url()).href)
    const { list, item } = trashIn(page)
    await page.getByText('The newest 100 entries are shown.').waitFor()
    await page.getByRole('button', { name: 'Empty the trash' }).click()
    await page.getByRole('heading', { name: 'Delete all 102 items of the trash, 1 kB, for good?' }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('102 entries').waitFor()
    await list.press('End')
    await item('0.txt').and(page.locator('[aria-selected=true]')).waitFor()
    t.ok((await list.getByRole('row').count()) < 60, 'only what can be seen is in the document')
    t.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
    t.strictSame(faults, [])
  })

  t.test('a deletion asks where no trash keeps it', async (t) => {
    const config = { plugins: { files: true, 'storage-local': true, web: true }, storage: { trash: false } }
    const node = await createTestNode({ config, folder: import.meta.dirname })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    await put(ada, '/a.txt', 'a')
    const { scene, faults } = await openFiles(t, node, browser, ada)
    const { page, grid } = scene
    await row(page, 'a.txt').click({ position: aside })
    await grid.press('Delete')
    const dialog = page.getByRole('dialog', { name: 'Delete "a.txt"?' })
    await dialog.getByText('Deleted files are gone for good, except in backups.').waitFor()
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    t.equal((await ada.fetch('/stat?path=/a.txt')).status, 404)
    t.equal(await page.getByRole('button', { name: 'Undo', exact: true }).count(), 0)
    t.strictSame(faults, [])
  })

  test('what a person typed stays until it is done', async (t, { page, ada }) => {
    await answerOnce(page, '**/mkdir', (route) => route.abort())
    await chooseNew(page, 'New folder')
    await page.getByLabel('Name of the folder').fill('a/b')
    await page.keyboard.press('Enter')
    await page.getByText('A name cannot be empty').waitFor()
    await page.getByLabel('Name of the folder').fill('typed')
    await page.keyboard.press('Enter')
    await page.getByText('The node did not answer. Try again.').waitFor()
    t.equal(await page.getByLabel('Name of the folder').inputValue(), 'typed')
    await page.keyboard.press('Enter')
    await page.locator('.row.active').and(row(page, 'typed')).waitFor()
    t.equal(
      await row(page, 'typed').getAttribute('aria-selected'),
      'false',
      'the next that is ticked is alone',
    )
    await hasFocus(page)
    t.equal((await statOf(ada, '/typed')).type, 'directory')
  })

  test('contents are shown, and nothing in them runs', async (t, { page, ada }) => {
    const script = '<script>window.__xss = 1</script><img src=x onerror="window.__xss = 1">'
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.__xss = 1"><script>window.__xss = 1</script></svg>`
    const contents: Readonly<Record<string, string | Buffer>> = {
      '1 <img src=x onerror=window.__xss=1>.svg': svg,
      '2.html': script,
      '3.txt': '\u202eabc',
      '4.ts': 'const text = 1',
      '5.bin': Buffer.from([0, 1, 2, 255]),
      '6.wav': wave(),
      '6.webm': await video(page),
      '7.pdf': pdf(),
      '8 is HTML.pdf': script,
      '9.empty': '',
    }
    for (const [name, content] of Object.entries(contents)) await put(ada, `/${name}`, content)
    await row(page, '9.empty').waitFor()
    const dialog = page.getByRole('dialog')
    const next = dialog.getByRole('button', { name: 'Next' })
    await row(page, '1 <img').getByRole('link').click()
    await dialog.locator('img').waitFor()
    await page.evaluate("document.querySelector('.viewer img').decode()")
    await next.click()
    await dialog.getByText(script).waitFor()
    await next.click()
    await dialog.getByRole('heading', { name: '3.txt' }).waitFor()
    await next.click()
    await dialog.getByText('const text = 1').waitFor()
    await next.click()
    await dialog.getByText('This file cannot be shown here').waitFor()
    await next.click()
    await dialog.locator('audio').waitFor()
    await page.evaluate(`new Promise((resolve) => {
      const audio = document.querySelector('.viewer audio')
      if (audio.duration > 0) resolve()
      else audio.addEventListener('loadedmetadata', resolve)
    })`)
    await next.click()
    await dialog.locator('video').waitFor()
    await page.evaluate(`new Promise((resolve) => {
      const video = document.querySelector('.viewer video')
      if (video.readyState > 0) resolve()
      else video.addEventListener('loadedmetadata', resolve)
    })`)
    const hasViewer = await page.evaluate('navigator.pdfViewerEnabled')
    const shown = hasViewer ? dialog.locator('iframe') : dialog.getByText('This file cannot be shown here')
    for (const name of ['7.pdf', '8 is HTML.pdf']) {
      await next.click()
      await dialog.getByRole('heading', { name }).waitFor()
      await shown.waitFor()
      if (hasViewer) t.match(await shown.getAttribute('src'), /^blob:/)
    }
    await next.click()
    await dialog.getByText('The file is empty.').waitFor()
    await page.keyboard.press('ArrowLeft')
    await dialog.getByRole('heading', { name: '8 is HTML.pdf' }).waitFor()
    await shown.waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download' }).first().click(),
    ])
    t.equal(await readFile(await download.path(), 'utf8'), script)
    await dialog.getByRole('button', { name: 'Close' }).click()
    await hasFocus(page)
  })

  test('folders are downloaded, and entries are moved and copied', async (t, { page, ada }) => {
    const long = `${'b'.repeat(251)}.txt`
    await put(ada, '/a.txt', 'a')
    await put(ada, `/${long}`, 'b')
    await put(ada, `/to/${long}`, 'other')
    await row(page, 'to').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'to.zip')
    t.ok((await readFile(await download.path())).includes(`to/${long}`))
    await row(page, long).click({ position: aside })
    await row(page, 'a.txt').click({ modifiers: ['Control'] })
    await page.getByRole('button', { name: 'Move' }).click()
    const dialog = page.getByRole('dialog')
    t.ok(await dialog.getByRole('button', { name: 'Move here' }).isDisabled())
    await dialog.getByRole('button', { name: 'to', exact: true }).click()
    await dialog.getByText('There are no folders here.').waitFor()
    await dialog.getByRole('button', { name: 'Move here' }).click()
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    await decide(page, long, 'Keep both')
    await row(page, long).waitFor({ state: 'detached' })
    t.strictSame(
      await Promise.all(
        ['/to/a.txt', `/to/${long}`, `/to/${'b'.repeat(247)} (2).txt`].map((path) => contentOf(ada, path)),
      ),
      ['a', 'other', 'b'],
    )
    await row(page, 'to').click({ position: aside })
    await page.getByRole('button', { name: 'Copy' }).click()
    await dialog.getByTitle('A folder cannot be put into itself.').and(page.locator(':disabled')).waitFor()
    await dialog.getByRole('button', { name: 'Copy here' }).click()
    await row(page, 'to (2)').waitFor()
    t.equal(await contentOf(ada, '/to (2)/a.txt'), 'a')
  })

  test('changes of others appear while the page can be seen', async (t, { page, ada }) => {
    const isFeed = (url: string) => url.includes('/api/files/changes') && url.includes('wait=')
    await put(ada, '/other.txt', 'x')
    await row(page, 'other.txt').waitFor()
    await writeFile(join(node.dataFolder, 'files', ada.user.uuid, 'disk.txt'), 'x')
    await row(page, 'disk.txt').waitFor()
    const ended = page.waitForEvent('requestfailed', (request) => isFeed(request.url()))
    const hide = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await hide(true)
    await ended
    await put(ada, '/meanwhile.txt', 'x')
    t.equal(await row(page, 'meanwhile.txt').count(), 0)
    await hide(false)
    await row(page, 'meanwhile.txt').waitFor()
  })

  test('the newest changes tell who made them', async (t, { page, ada, chooser }) => {
    const created = await ada.fetch('/api/account/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'backup script', scopes: ['files:write'] }),
    })
    const { token } = (await created.json()) as { token: string }
    const byToken = (path: string, more = {}) =>
      node.fetch('/mkdir', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
        body: JSON.stringify({ path }),
      })
    await byToken('/from the script')
    await byToken('/from the device', { 'x-nodekeep-device': '<img src=x onerror=window.__xss=1>' })
    const lines = page.locator('.recent li')
    const line = (what: string, who: string) =>
      lines
        .filter({ has: page.getByText(what, { exact: true }) })
        .filter({ has: page.getByText(who, { exact: true }) })
    await page.getByRole('button', { name: 'Details', exact: true }).click()
    await line('Made the folder from the script', 'token backup script').waitFor()
    const device = 'device <img src=x onerror=window.__xss=1>, with the token backup script'
    await line('Made the folder from the device', device).waitFor()

    const files = ['a.txt', 'b.txt', 'c.txt'].map((name) => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from('x'),
    }))
    await chooser.setInputFiles(files)
    await page.getByText('(3/3)').waitFor()
    const uploaded = lines.filter({ hasText: /^Stored [abc]\.txt and 2 more/ })
    await uploaded.filter({ has: page.getByText('you, from test', { exact: true }) }).waitFor()
    await writeFile(join(node.dataFolder, 'files', ada.user.uuid, 'disk.txt'), 'x')
    await line('Stored disk.txt', "another program on the node's disk").waitFor()
    t.equal(await lines.count(), 4)
    const newest = await ada.fetch('/api/files/changes/newest?path=/a.txt')
    const [upload] = ((await newest.json()) as { changes: { group: string }[] }).changes
    await byToken('/hidden', { 'x-nodekeep-group': upload?.group })
    await line('Made the folder hidden', 'token backup script').waitFor()
    await uploaded.waitFor()

    for (const name of ['a.txt', 'b.txt']) await row(page, name).getByRole('checkbox').click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await lines.filter({ hasText: /^Deleted [ab]\.txt and 1 more/ }).waitFor()
    await page.goto(`${node.url.href}#/files/from the script`)
    await page.getByText('Made the folder /from the script').waitFor()
    t.equal(await lines.count(), 1, 'those of the folder that is shown')
  })

  test(
    'the room that a folder takes is shown, with its largest folders to walk into',
    async (t, { page, ada, chooser }) => {
      await page.getByRole('button', { name: 'Details', exact: true }).click()
      const usage = page.getByRole('region', { name: 'Space used' })
      const largest = usage.getByRole('listitem')
      await usage.getByText(/^3 kB in 6 entries, [\d.]+ [GT]B of [\d.]+ [GT]B are free$/).waitFor()
      await usage.locator('> .usage-bar .own').waitFor()
      await usage.getByText('3 kB in this folder', { exact: true }).waitFor()
      const shown = largest.filter({ has: page.getByRole('link', { name: 'films', exact: true }) })
      await shown.getByText('2 kB').waitFor()
      t.strictSame(await largest.getByRole('link').allTextContents(), ['films', 'notes'], 'largest first')
      await row(page, 'films').locator('.size').getByText('2 kB').waitFor()
      await shown.getByRole('link').click()
      await usage.getByText(/^2 kB in 3 entries/).waitFor()
      t.strictSame(await largest.getByRole('link').allTextContents(), ['<img src=x onerror=window.__xss=1>'])
      await chooser.setInputFiles({
        name: 'new.bin',
        mimeType: 'text/plain',
        buffer: Buffer.alloc(5000),
      })
      await usage.getByText(/^7 kB in 4 entries/).waitFor()
      await largest.getByRole('link').click()
      await usage.getByText(/^500 B in 1 entry/).waitFor()
      await usage.getByText('There are no folders here.').waitFor()

      const answer = (await (await ada.fetch('/api/files/usage')).json()) as object
      const countAll = await answerRequests(page, '**/api/files/usage?*', (route) =>
        route.fulfill({ json: { ...answer, isComplete: false, space: null } }),
      )
      await page.goto(new URL('#/files', page.url()).href)
      await usage.getByText('8 kB in 7 entries, still counting', { exact: true }).waitFor()
      t.equal(await usage.locator('> .usage-bar').count(), 0)
      countAll()
      await usage.getByText(/^8 kB in 7 entries, [\d.]+ [GT]B of/).waitFor()
      const endQuota = await answerRequests(page, '**/api/files/usage?*', (route) =>
        route.fulfill({ json: { ...answer, quota: { bytes: 9000, taken: 8500 } } }),
      )
      await page.goto(new URL('#/files/films', page.url()).href)
      const used = usage.getByText('8 kB in 7 entries, 8.5 kB of your 9 kB are used', { exact: true })
      await used.waitFor()
      await page.goto(new URL('#/files', page.url()).href)
      await used.waitFor()
      await usage.locator('> .usage-bar .own').waitFor()
      endQuota()
      await put(ada, '/notes/a', 'replaced')
      await postJson(ada, '/delete', { path: '/films/b' })
      await usage
        .getByText('The trash of all folders takes 1.5 kB. Former versions of files take 1 kB.')
        .waitFor()
    },
    async (ada) => {
      const write = (path: string, size: number) =>
        ada.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body: Buffer.alloc(size) })
      await write('/notes/a', 1000)
      await write('/films/b', 1500)
      await write('/films/<img src=x onerror=window.__xss=1>/c', 500)
    },
  )

  test('an upload that fails says why, and can be tried again', async (t, { page, ada, chooser }) => {
    const folder = t.testdir({ 'large.bin': '', 'full.txt': 'full', 'cut.txt': 'cut' })
    await truncate(join(folder, 'large.bin'), maxFileSize + 1)
    let writes = 0
    await page.route('**/write?*', (route) => {
      writes += 1
      const body = { error: true, message: 'The disk of the node is full.', code: 'INSUFFICIENT_STORAGE' }
      if (writes === 1) return route.fulfill({ status: 507, json: body })
      return writes === 3 ? route.abort() : route.continue()
    })
    await chooser.setInputFiles(join(folder, 'large.bin'))
    await page.getByText('This node takes files of at most 250 MB.').waitFor()
    t.equal(writes, 0, 'nothing was sent')
    t.equal(
      await page.getByRole('button', { name: 'Try again: large.bin' }).count(),
      0,
      'it would fail again',
    )
    await chooser.setInputFiles(join(folder, 'full.txt'))
    await page.getByText('The disk of the node is full.').waitFor()
    const again = page.getByRole('button', { name: 'Try again: full.txt' })
    await page.setViewportSize({ width: 1280, height: 400 })
    const bottom = "document.querySelector('.files .rows').getBoundingClientRect().bottom"
    const below = "document.querySelector('.files .status-line').getBoundingClientRect().top"
    await untilTrue(page, `${bottom} <= ${below}`)
    await page.setViewportSize({ width: 1280, height: 720 })
    await again.waitFor()
    t.equal(await page.getByText('Everything is done.').count(), 0)
    await again.click()
    await page.getByText('(1/2)').waitFor()
    await chooser.setInputFiles(join(folder, 'cut.txt'))
    await page.getByText('(2/3)').waitFor()
    t.equal(writes, 4, 'a connection that was lost is followed by another attempt')
    t.equal(await contentOf(ada, '/cut.txt'), 'cut')
  })

  test('an upload that broke off goes on from there', async (t, scene) => {
    const { page, ada, chooser } = scene
    const content = randomBytes(5_000_000)
    const folder = t.testdir({ 'large.bin': content, 'old.bin': content.subarray(1, 2_500_000) })
    await put(ada, '/old.bin', 'old')
    const offsets: number[] = []
    await page.route('**/api/files/uploads/*', async (route) => {
      const request = route.request()
      if (request.method() !== 'PATCH') return route.continue()
      const offset = Number(request.headers()['upload-offset'])
      offsets.push(offset)
      if (offsets.length > 2) return route.continue()
      // A part arrives, and the connection breaks.
      const headers = {
        'tus-resumable': '1.0.0',
        'upload-offset': `${offset}`,
        'content-type': 'application/offset+octet-stream',
      }
      const body = content.subarray(offset, offset + 2_000_000)
      await ada.fetch(new URL(request.url()).pathname, { method: 'PATCH', headers, body })
      return route.abort()
    })
    await chooser.setInputFiles(join(folder, 'large.bin'))
    await page.getByText('(1/1)').waitFor()
    t.ok(Buffer.from(await (await ada.fetch('/read?path=/large.bin')).arrayBuffer()).equals(content))
    const { modified } = await statOf(ada, '/large.bin')
    t.ok(Math.abs(Date.parse(modified) - (await stat(join(folder, 'large.bin'))).mtimeMs) < 2000)
    t.strictSame(offsets, [0, 2_000_000, 4_000_000])

    await chooser.setInputFiles(join(folder, 'old.bin'))
    await decide(page, 'old.bin', 'Replace')
    await page.getByText('(2/2)').waitFor()
    const replaced = await (await ada.fetch('/read?path=/old.bin')).arrayBuffer()
    t.ok(Buffer.from(replaced).equals(content.subarray(1, 2_500_000)))

    // A node without the plugin gets the file as a whole.
    const isUpload = ({ pathname }: URL) => pathname.startsWith('/api/files/uploads')
    await page.route(isUpload, (route) => route.fulfill({ status: 404, json: { message: 'gone' } }))
    await answerOnce(page, '**/write?*', (route) => route.abort())
    await chooser.setInputFiles({
      name: 'whole.bin',
      mimeType: 'any/type',
      buffer: content.subarray(0, 1_000_000),
    })
    await page.getByText('(3/3)').waitFor()
    t.equal((await statOf(ada, '/whole.bin')).size, 1_000_000)
  })

  test('an upload whose path becomes a folder meanwhile says so', async (t, { page, ada, chooser }) => {
    const folder = t.testdir({ 'late.bin': randomBytes(1_000_000) })
    await put(ada, '/late.bin', 'old')
    const change = (route: string) => {
      const headers = { 'content-type': 'application/json' }
      return ada.fetch(route, { method: 'POST', headers, body: JSON.stringify({ path: '/late.bin' }) })
    }
    let pieces = 0
    await page.route('**/api/files/uploads/*', async (route) => {
      const isPiece = route.request().method() === 'PATCH'
      if (isPiece) pieces += 1
      if (isPiece && pieces === 1) {
        await change('/delete')
        await change('/mkdir')
      }
      return route.continue()
    })
    await chooser.setInputFiles(join(folder, 'late.bin'))
    await decide(page, 'late.bin', 'Replace')
    await page.getByText('Something else is at').waitFor()
    t.equal(pieces, 1, 'nothing is sent again')
    await change('/delete')
    await page.getByRole('button', { name: 'Try again: late.bin' }).click()
    await page.getByText('(1/1)').waitFor()
    t.equal((await statOf(ada, '/late.bin')).size, 1_000_000)
  })

  const makeMany = async ({ user }: TestUser) => {
    const many = join(node.dataFolder, 'files', user.uuid, 'many')
    await mkdir(many, { recursive: true })
    for (let i = 0; i < 10_000; i += 1) writeFileSync(join(many, `file ${i}.txt`), '')
  }
  test(
    'a folder of 10,000 entries is soon there, and stays smooth',
    async (t, { page, grid }) => {
      const cdp = await page.context().newCDPSession(page)
      await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
      const cpuMs = async () => {
        const { metrics } = await cdp.send('Performance.getMetrics')
        return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
      }
      const start = await cpuMs()
      const shownMs = await page.evaluate<number>(`new Promise((resolve) => {
      const start = performance.now()
      const look = () => document.querySelector('.body .row') && document.querySelector('.rows[aria-rowcount="10001"]')
        ? requestAnimationFrame(() => resolve(performance.now() - start))
        : requestAnimationFrame(look)
      location.hash = '#/files/many'
      look()
    })`)
      const openCpu = (await cpuMs()) - start
      t.comment(
        `Shown after ${Math.round(shownMs)} ms, with ${Math.round(openCpu)} ms of CPU time of the page.`,
      )
      await grid.focus()
      await grid.press('End')
      await row(page, 'file 9999.txt').waitFor()
      const from = await cpuMs()
      await grid.press('Control+a')
      for (let i = 0; i < 20; i += 1) await grid.press('Control+PageUp')
      const keyMs = ((await cpuMs()) - from) / 21
      t.comment(`A key takes ${Math.round(keyMs)} ms of CPU time.`)
      await page.getByText('10,000 of 10,000 selected').waitFor()
      t.ok((await page.getByRole('row').count()) < 100)
      t.ok(openCpu < 2000)
      t.ok(keyMs < 100)
    },
    makeMany,
  )

  test('everything has its place on a phone', async (t, { page, ada }) => {
    await page.setViewportSize({ width: 360, height: 640 })
    await put(ada, `/${'long '.repeat(48)}.txt`, 'x')
    const top = async () => (await row(page, 'long').boundingBox())?.y
    const before = await top()
    await row(page, 'long').getByRole('checkbox').click()
    await page.getByText('1 of 1 selected').waitFor()
    t.equal(await top(), before, 'the list does not move when something is selected')
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    const bar = page.getByRole('group', { name: 'Selected entries' })
    for (const button of await bar.getByRole('button').all()) {
      if (!(await button.isVisible())) continue
      const { width, height } = (await button.boundingBox()) ?? { width: 0, height: 0 }
      t.ok(width >= 44 && height >= 44, `a finger hits ${await button.innerText()}: ${width} by ${height}`)
    }
    await bar.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Details' }).click()
    const details = page.getByRole('dialog', { name: 'Details' })
    await details.getByText('Text').waitFor()
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    await details.getByRole('button', { name: 'Close' }).click()
    await bar.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    t.ok(
      await page.evaluate(
        "(({ left, right }) => left >= 0 && right <= innerWidth)(document.querySelector('dialog').getBoundingClientRect())",
      ),
    )
  })
})

/** Opens the files of a person in a context of their own, and collects the faults of scripts. */
async function openFiles(
  t: Test,
  node: TestNode,
  browser: Browser,
  ada: TestUser,
): Promise<{ readonly scene: Scene; readonly faults: readonly string[] }> {
  const context = await browser.newContext({ locale: 'en-US' })
  context.setDefaultTimeout(timeout)
  await context.addCookies([{ name: 'session', value: ada.token, url: node.url.href, sameSite: 'Lax' }])
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (line) => {
    if (/Content.Security.Policy|Trusted/i.test(line.text())) faults.push(line.text())
  })
  t.teardown(() => context.close())
  await page.goto(node.url.href)
  await page.getByText(/^This folder is empty|^\d+ entr/).waitFor()
  const chooser = page.locator('input[type=file]').first()
  return { scene: { page, ada, grid: page.getByRole('grid'), chooser }, faults }
}

/** Answers the question about something that is there already. */
async function decide(page: Page, name: string, how: 'Replace' | 'Keep both'): Promise<void> {
  const dialog = page.getByRole('dialog', { name: `"${name}" is there already` })
  await dialog.getByRole('button', { name: how }).click()
}

/** Waits until the list has the focus again. */
function hasFocus(page: Page): Promise<void> {
  return page.locator('.rows:focus').waitFor()
}

/** The row of an entry whose name is a text with an extension, or begins with one without. */
function row(page: Page, name: string): Locator {
  const begins = new RegExp(`^${name.replace(/[^\w ]/g, '\\$&')}`)
  return page
    .locator('.body')
    .getByRole('row')
    .filter({ has: page.getByRole('link', { name: name.includes('.') ? name : begins, exact: true }) })
}

/** The parts of the page "Trash". */
function trashIn(page: Page) {
  const list = page.getByRole('grid', { name: 'Deleted files and folders' })
  const items = list.locator('[data-index]')
  const item = (name: string) => items.filter({ has: page.getByText(name, { exact: true }) })
  return {
    list,
    items,
    item,
    /** Chooses a line in the menu of an item. */
    async choose(name: string, line: string) {
      await item(name)
        .getByRole('button', { name: `More: ${name}` })
        .click()
      await page.getByRole('menuitem', { name: line, exact: true }).click()
    },
  }
}

async function put(user: TestUser, path: string, content: string | Buffer): Promise<void> {
  const body = new Blob([typeof content === 'string' ? content : new Uint8Array(content)])
  const { status } = await user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body })
  if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
}

async function postJson(user: TestUser, route: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { status } = await user.fetch(route, { method: 'POST', headers, body: JSON.stringify(body) })
  if (status !== 200) throw new Error(`${route} was refused with ${status}.`)
}

async function contentOf(user: TestUser, path: string): Promise<string> {
  return (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
}

async function statOf(
  user: TestUser,
  path: string,
): Promise<{ readonly type: string; readonly size: number; readonly modified: string }> {
  return (await user.fetch(`/stat?path=${encodeURIComponent(path)}`)).json() as never
}

/** A video of a picture that changes, which the browser records. */
async function video(page: Page): Promise<Buffer> {
  const bytes = await page.evaluate<number[]>(`new Promise((resolve) => {
    const canvas = document.createElement('canvas')
    const context = canvas.getContext('2d')
    const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: 'video/webm' })
    const pieces = []
    let frames = 0
    let firstRecorded = Infinity
    const draw = () => {
      frames += 1
      context.fillRect(0, 0, frames, frames)
      if (frames > firstRecorded + 20) recorder.stop()
      else requestAnimationFrame(draw)
    }
    // It begins with a frame.
    recorder.onstart = () => {
      firstRecorded = frames
    }
    recorder.ondataavailable = ({ data }) => pieces.push(data)
    recorder.onstop = async () => resolve([...new Uint8Array(await new Blob(pieces).arrayBuffer())])
    recorder.start()
    draw()
  })`)
  return Buffer.from(bytes)
}

/** A tenth of a second of silence. */
function wave(): Buffer {
  const samples = Buffer.alloc(800, 128)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(8000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/** A document with an empty page. */
function pdf(): Buffer {
  return Buffer.from(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj
trailer<</Root 1 0 R>>
`)
}
