import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { answerOnce } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  readonly viewer: Locator
  /** Opens a page of the node, such as `files`. */
  open(place: string): Promise<void>
}

t.test('files in the full window', { skip: needsChromium, jobs: 2 }, async (t) => {
  const plugins = { files: true, 'storage-local': true, previews: true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const browser = await startChromium(t)
  const test = (name: string, run: (t: Test, scene: Scene) => Promise<void>) =>
    t.test(name, async (t) => {
      const { page, context, user: ada, faults } = await openSignedInTab(browser, node, await node.signIn())
      t.teardown(() => context.close())
      page.on('dialog', (dialog) => dialog.accept())
      const open = async (place: string) => {
        await page.goto(new URL(`/#/${place}`, node.url).href)
        await page.reload()
      }
      await run(t, { page, ada, viewer: page.locator('.viewer'), open })
      t.equal(await page.evaluate('window.__xss'), undefined, 'nothing that was stored has run')
      t.strictSame(faults, [])
    })

  test('a file that is open has an address, and "Back" closes it', async (t, { page, ada, viewer, open }) => {
    const large = await picture(page, 2000, 1000)
    for (const name of ['a.jpg', 'b.jpg', 'c.jpg']) await put(ada, `/trip/${name}`, large)
    await put(ada, '/trip/notes.txt', 'x')
    await open('files/trip')
    const isOpen = (name: string) => viewer.getByRole('heading', { name }).waitFor()
    const link = page.getByRole('link', { name: 'a.jpg' }).first()
    await link.waitFor()
    const [loaded] = await Promise.all([
      page.waitForResponse((response) => response.url().includes('b.jpg&size=large')),
      link.click(),
    ])
    t.equal(loaded.status(), 200, 'the next picture is loaded before it is asked for')
    await isOpen('a.jpg')
    const address = page.url()
    t.match(address, 'file=')
    await page.keyboard.press('ArrowRight')
    await isOpen('b.jpg')
    await page.goBack()
    await viewer.waitFor({ state: 'detached' })
    t.match(page.url(), /#\/files\/trip$/, 'the folder is still there, also after a step')

    await page.goto(address)
    await page.reload()
    await isOpen('a.jpg')
    await untilTrue(page, "document.querySelector('.viewer img')?.naturalWidth === 1600")
    await page.keyboard.press('Escape')
    await viewer.waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: 'notes.txt' }).waitFor()

    await link.click()
    await isOpen('a.jpg')
    await viewer.getByRole('button', { name: 'Details' }).click()
    const details = viewer.getByRole('region', { name: 'Details' })
    await details.getByRole('link', { name: '/trip' }).waitFor()
    await viewer.getByRole('button', { name: 'Delete' }).click()
    await isOpen('b.jpg')
    await page.getByText('Moved "a.jpg" to the trash.').waitFor()
    t.equal((await ada.fetch('/stat?path=/trip/a.jpg')).status, 404)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone:').waitFor()
    t.equal((await ada.fetch('/stat?path=/trip/a.jpg')).status, 200)
    await page.keyboard.press('Escape')
    await page.getByRole('grid').locator(':scope:focus').waitFor()
  })

  test('a picture is zoomed and moved, and a finger leads on', async (_, { page, ada, viewer, open }) => {
    for (const name of ['a.jpg', 'b.jpg']) await put(ada, `/${name}`, await picture(page, 1200, 800))
    await open('files?file=/a.jpg')
    const image = viewer.getByRole('img', { name: 'a.jpg' })
    await image.waitFor()
    const isWidth = (check: string) =>
      untilTrue(
        page,
        `((times) => ${check})(document.querySelector('.viewer img').getBoundingClientRect().width / document.querySelector('.viewer .picture').clientWidth)`,
      )
    await isWidth('times === 1')
    await page.keyboard.press('+')
    await isWidth('times > 1.2')
    await page.keyboard.press('0')
    await isWidth('times === 1')
    await page.mouse.move(640, 360)
    await page.mouse.wheel(0, -100)
    await isWidth('times > 1.05')
    await viewer.getByRole('button', { name: 'Zoom out' }).click()
    await isWidth('times === 1')
    await page.mouse.dblclick(640, 360)
    await isWidth('times > 2')
    const left = () => image.evaluate((img) => img.getBoundingClientRect().left)
    const before = await left()
    await page.mouse.down()
    await page.mouse.move(700, 360, { steps: 3 })
    await page.mouse.up()
    await untilTrue(page, `document.querySelector('.viewer img').getBoundingClientRect().left > ${before}`)
    await page.mouse.dblclick(300, 300)
    await isWidth('times === 1')

    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true })
    const touch = async (...points: readonly (readonly [x: number, y: number])[]) => {
      const at = ([x, y]: readonly [number, number]) => ({ x, y })
      for (const [i, point] of points.entries())
        await cdp.send('Input.dispatchTouchEvent', {
          type: i === 0 ? 'touchStart' : 'touchMove',
          touchPoints: [at(point)],
        })
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    }
    await touch([900, 360], [700, 362], [500, 365])
    await viewer.getByRole('img', { name: 'b.jpg' }).waitFor()
    await nextFrame(page)
    await touch([300, 360], [500, 362], [700, 365])
    await image.waitFor()
    // A finger moves a picture that is not in its place yet, and scrolls a frame without it.
    await isWidth('times === 1')
    await nextFrame(page)
    await touch([600, 200], [602, 300], [604, 450])
    await viewer.waitFor({ state: 'detached' })
  })

  test('what cannot be shown says what to do', async (t, { page, ada, viewer, open }) => {
    await put(ada, '/a b.wasm', Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]))
    await put(ada, '/c.bin', Buffer.from([0, 1, 2, 255]))
    await open('files?file=/c.bin')
    await viewer.getByText('This file cannot be shown here. Download it to open it.').waitFor()
    await page.keyboard.press('ArrowLeft')
    const link = viewer.getByRole('link', { name: 'Open its functions' })
    await link.waitFor()
    t.equal(await link.getAttribute('href'), '#/wasm/a%20b.wasm')
    await open('files?file=/gone.txt')
    await viewer.getByRole('alert').getByText('This file is not there any more.').waitFor()
  })

  test('a text is edited, and each version stays', async (t, { page, ada, viewer, open }) => {
    await put(ada, '/list.txt', 'milk\r\nbread\r\n')
    await open('files?file=/list.txt')
    await viewer.getByText('bread').waitFor()
    const edit = viewer.getByRole('button', { name: 'Edit' })
    const field = viewer.getByRole('textbox', { name: 'Text of list.txt' })
    await edit.click()
    await field.fill('milk\nbread\n<img src=x onerror=window.__xss=1>\n')
    await viewer.getByText('Not saved yet.').waitFor()
    await page.keyboard.press('Control+s')
    await viewer.getByText('Saved.').waitFor()
    t.equal(await contentOf(ada, '/list.txt'), 'milk\r\nbread\r\n<img src=x onerror=window.__xss=1>\r\n')
    const answer = await ada.fetch('/api/files/versions?path=/list.txt')
    t.equal(((await answer.json()) as { versions: unknown[] }).versions.length, 1)
    await viewer.getByRole('button', { name: 'Finish' }).click()
    await viewer.getByText('<img src=x').waitFor()

    await edit.click()
    await field.fill('unsaved')
    await page.keyboard.press('Escape')
    const question = page.getByRole('dialog', { name: 'Save "list.txt"?' })
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await question.waitFor({ state: 'detached' })
    t.equal(await field.inputValue(), 'unsaved')
    await page.goBack()
    await question.waitFor()
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    t.equal(await field.inputValue(), 'unsaved', '"Back" asks, too')
    t.match(page.url(), 'file=')

    await page.reload()
    await viewer.getByText('This is what you typed before. It is not saved yet.').waitFor()
    t.equal(await field.inputValue(), 'unsaved')
    await page.keyboard.press('Escape')
    await question.getByRole('button', { name: 'Do not save' }).click()
    await viewer.waitFor({ state: 'detached' })
    await open('files?file=/list.txt')
    await viewer.getByText('<img src=x').waitFor()
    t.equal(await field.count(), 0)
  })

  test('a text that was changed elsewhere is kept, and so is the new one', async (t, {
    page,
    ada,
    viewer,
    open,
  }) => {
    await put(ada, '/a.txt', 'first')
    await open('files?file=/a.txt')
    await viewer.getByRole('button', { name: 'Edit' }).click()
    const field = viewer.getByRole('textbox')
    await put(ada, '/a.txt', 'of another device')
    await field.fill('mine')
    await viewer.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Your text is stored as "a (2).txt", so both are kept.').waitFor()
    await viewer.getByRole('heading', { name: 'a (2).txt' }).waitFor()
    t.equal(await contentOf(ada, '/a.txt'), 'of another device')
    t.equal(await contentOf(ada, '/a (2).txt'), 'mine')

    await viewer.getByRole('button', { name: 'Edit' }).click()
    await viewer.getByRole('textbox').fill('x'.repeat(1_000_001))
    await viewer.getByRole('button', { name: 'Save' }).click()
    await viewer.getByRole('alert').getByText('Texts of up to 1 MB can be edited here.').waitFor()
    await answerOnce(page, '**/write?*', (route) => route.abort())
    await viewer.getByRole('textbox').fill('typed')
    await viewer.getByRole('button', { name: 'Save' }).click()
    await viewer.getByRole('alert').getByText('The node did not answer. Try again.').waitFor()
    t.equal(await viewer.getByRole('textbox').inputValue(), 'typed')
    await viewer.getByRole('button', { name: 'Save' }).click()
    await viewer.getByText('Saved.').waitFor()
    t.equal(await contentOf(ada, '/a (2).txt'), 'typed')
  })

  test('long texts and other encodings say why they cannot be edited', async (t, {
    page,
    ada,
    viewer,
    open,
  }) => {
    await put(ada, '/1 long.txt', 'long '.repeat(300_000))
    await put(ada, '/2 latin.txt', Buffer.from([0x63, 0x61, 0x66, 0xe9]))
    await open('files?file=/1 long.txt')
    await viewer.getByText('Texts of up to 1 MB can be edited here.').waitFor()
    await page.getByRole('grid').waitFor()
    await viewer.getByRole('button', { name: 'Next' }).click()
    await viewer.getByText('This text is not in UTF-8').waitFor()
    t.equal(await viewer.getByRole('button', { name: 'Edit' }).count(), 0)
  })

  test('markdown is shown as it is meant, also while it is edited', async (t, {
    page,
    ada,
    viewer,
    open,
  }) => {
    await put(
      ada,
      '/plan.md',
      '# Plan\n\n- one\n\n<img src=x onerror=window.__xss=1>\n\n[out](https://example.org)\n',
    )
    await open('files?file=/plan.md')
    await viewer.getByRole('heading', { name: 'Plan', exact: true }).waitFor()
    await viewer.getByRole('listitem').getByText('one').waitFor()
    await viewer.getByText('<img src=x').waitFor()
    await viewer.getByRole('button', { name: 'As plain text' }).click()
    await viewer.getByText('# Plan').waitFor()
    await viewer.getByRole('button', { name: 'Edit' }).click()
    await viewer.getByRole('textbox').fill('## Changed\n')
    await viewer.getByRole('button', { name: 'Preview' }).click()
    await viewer.getByRole('heading', { name: 'Changed' }).waitFor()
    await viewer.getByRole('button', { name: 'Preview' }).click()
    t.equal(await viewer.getByRole('textbox').inputValue(), '## Changed\n')
    await page.keyboard.press('Control+s')
    await viewer.getByText('Saved.').waitFor()
    t.equal(await contentOf(ada, '/plan.md'), '## Changed\n')
  })

  test('photos are uploaded into the folder that the button names', async (t, { page, ada, open }) => {
    await page.setViewportSize({ width: 1280, height: 720 })
    await open('photos')
    await page.getByText('Those that you upload here go into the folder "Photos".').waitFor()
    const button = page.getByRole('button', { name: 'Upload to "Photos"' })
    const beach = { name: 'beach.jpg', mimeType: 'image/jpeg', buffer: await picture(page, 400, 300) }
    const upload = async () => {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button.click()])
      await chooser.setFiles(beach)
    }
    await upload()
    await page.getByText('Uploaded "beach.jpg" into the folder "Photos".').waitFor()
    t.equal((await ada.fetch('/stat?path=/Photos/beach.jpg')).status, 200)
    await page.locator('.photos').getByRole('img', { name: 'beach.jpg' }).waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await upload()
    const conflict = page.getByRole('dialog', { name: '"beach.jpg" is there already' })
    await conflict.getByRole('button', { name: 'Skip' }).click()
    await conflict.waitFor({ state: 'detached' })
  })

  test('photos are selected, deleted, taken back and found by date', async (t, {
    page,
    ada,
    viewer,
    open,
  }) => {
    await page.setViewportSize({ width: 1280, height: 720 })
    const red = await picture(page, 400, 300)
    const months = Array.from({ length: 12 }, (_, i) => `2025-${String(i + 1).padStart(2, '0')}`)
    for (const month of months) await put(ada, `/album/${month}.jpg`, red, `${month}-15T12:00:00Z`)
    await untilRead(ada)
    await open('photos')
    const photo = (name: string) => page.locator('.photos').getByRole('img', { name })
    await photo('2025-12.jpg').waitFor()
    t.equal(await photo('2025-01.jpg').count(), 0, 'what cannot be seen does not exist')
    await page.getByRole('slider', { name: 'Date' }).press('End')
    await photo('2025-01.jpg').waitFor()
    t.match(
      await page.getByRole('slider').getAttribute('aria-valuetext'),
      /^(January|February|March|April) 2025$/,
    )
    await page.getByRole('slider').press('Home')

    await page.getByRole('checkbox', { name: 'Select: 2025-12.jpg' }).check({ force: true })
    await photo('2025-11.jpg').click()
    const bar = page.getByRole('group', { name: 'Selected entries' })
    await bar.getByText('2 selected').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      bar.getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'album.zip')
    await bar.getByRole('button', { name: 'Delete' }).click()
    await photo('2025-12.jpg').waitFor({ state: 'detached' })
    await page.getByText('Moved 2 entries to the trash.').waitFor()
    t.equal((await ada.fetch('/stat?path=/album/2025-12.jpg')).status, 404)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone:').waitFor()
    t.equal(await photo('2025-12.jpg').count(), 1, 'it is said when the photo is back')

    await photo('2025-12.jpg').click()
    await viewer.getByRole('heading', { name: '2025-12.jpg' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await viewer.getByRole('heading', { name: '2025-11.jpg' }).waitFor()
    await page.keyboard.press('Delete')
    await viewer.getByRole('heading', { name: '2025-10.jpg' }).waitFor()
    await page.goBack()
    await viewer.waitFor({ state: 'detached' })
    await photo('2025-11.jpg').waitFor({ state: 'detached' })
    t.equal(await page.getByRole('heading', { name: 'November 2025' }).count(), 0, 'an empty month is gone')
    // By keys, since the offer to undo may be above it.
    await page.locator('.photos').getByRole('link', { name: '2025-10.jpg' }).press(' ')
    await bar.getByRole('link', { name: 'Show in folder' }).click()
    await page.getByRole('row').filter({ hasText: '2025-10.jpg' }).waitFor()
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

async function contentOf(user: TestUser, path: string): Promise<string> {
  return (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
}

/** Waits until a frame is drawn: a finger meets what was drawn last. */
async function nextFrame(page: Page): Promise<void> {
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
}

/** Waits until the node has looked at all pictures. */
async function untilRead(user: TestUser): Promise<void> {
  const isComplete = async () =>
    ((await (await user.fetch('/api/previews/status')).json()) as { isComplete: boolean }).isComplete
  while (!(await isComplete())) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** A JPEG of one color, which the browser makes. */
async function picture(page: Page, width: number, height: number): Promise<Buffer> {
  const bytes = await page.evaluate<number[]>(`new Promise((resolve) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: ${width}, height: ${height} })
    const context = canvas.getContext('2d')
    context.fillStyle = 'firebrick'
    context.fillRect(0, 0, ${width}, ${height})
    canvas.toBlob(async (blob) => resolve([...new Uint8Array(await blob.arrayBuffer())]), 'image/jpeg')
  })`)
  return Buffer.from(bytes)
}
