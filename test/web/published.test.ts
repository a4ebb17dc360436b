import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import t, { type Test } from 'tap'
import { answerOnce, answerRequests } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { hasFocus } from '../browser/until-true.ts'
import { openPage } from './fixtures/frame.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

// One at a time: the tabs of a browser share its clipboard.
t.jobs = 1

const browser = needsChromium ? null : await startChromium(t)

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  readonly dialog: Locator
  /** Opens one of the pages by its link. */
  open(name: string): Promise<void>
}

/** The configuration beside what all tests have. */
interface Further {
  readonly plugins: Readonly<Record<string, true>>
  readonly server?: { readonly publicUrl: string }
}

function test(
  name: string,
  run: (t: Test, scene: Scene) => Promise<void>,
  further: Further = { plugins: { ipfs: true } },
): void {
  t.test(name, { skip: needsChromium }, async (t) => {
    const { faults, ...scene } = await openNode(t, further)
    await run(t, scene)
    t.strictSame(faults, [])
  })
}

/** Opens the files of a person, who has three. */
async function openNode(
  t: Test,
  { plugins, ...rest }: Further,
): Promise<Scene & { readonly faults: readonly string[] }> {
  const config = { plugins: { files: true, 'storage-local': true, web: true, ...plugins }, ...rest }
  const node = await createTestNode({ config, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const path of ['/letter.txt', '/gone.txt', '/trip/a.txt', '/trip/b.txt'])
    await put(ada, path, `content of ${path}`)
  const { page, context, faults } = await openSignedInTab(browser as Browser, node, ada)
  t.teardown(() => context.close())
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const open = (title: string) => openPage(page, title)
  await page.getByText(/entries$/).waitFor()
  return { page, ada, dialog: page.getByRole('dialog'), open, faults }
}

const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true })

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

async function put(user: TestUser, path: string, content: string): Promise<void> {
  const { status } = await user.fetch(`/write?path=${path}`, { method: 'PUT', body: content })
  if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
}

/** Opens the dialog for the selected entry. */
async function offerToPublish(page: Page): Promise<void> {
  await button(page.locator('.bottom-bar'), 'More').click()
  await page.getByRole('menuitem', { name: 'Publish a copy' }).click()
}

/** Publishes an entry with the dialog, and returns its address. */
async function publish({ page, dialog }: Scene, name: string): Promise<string> {
  await row(page, name).getByRole('checkbox').click()
  await offerToPublish(page)
  await button(dialog, 'Publish a copy').click()
  await dialog.getByText('It is published at this address:').waitFor()
  return (await dialog.getByRole('link').first().getAttribute('href')) ?? ''
}

test('a file is published, and its address is copied', async (t, scene) => {
  const { page, dialog } = scene
  await row(page, 'letter.txt').getByRole('checkbox').click()
  await offerToPublish(page)
  await dialog.getByText('Everybody who knows the address can read the copy').waitFor()
  await dialog.getByText('A link of "Share" is different').waitFor()
  await dialog.getByText('Later changes are not published.').waitFor()
  await button(dialog, 'Cancel').click()
  await page.locator('.rows:focus').waitFor()
  await row(page, 'letter.txt').getByRole('checkbox').click()

  const address = await publish(scene, 'letter.txt')
  const [, cid = ''] = /^http:\/\/127\.0\.0\.1:\d+\/ipfs\/(b\w+)\?filename=letter\.txt$/.exec(address) ?? []
  await dialog.getByText(cid, { exact: true }).waitFor()
  await dialog.getByText('Addresses of this node work only on its own computer').waitFor()
  t.equal(await dialog.getByRole('img').count(), 0, 'another device cannot use a QR code')
  await hasFocus(page, 'Copy the address')
  await page.keyboard.press('Enter')
  await dialog.getByText('Copied.').waitFor()
  t.equal(await page.evaluate('navigator.clipboard.readText()'), address)
  const read = await fetch(address)
  t.match(read.headers.get('content-type'), /^text\/plain/)
  t.equal(await read.text(), 'content of /letter.txt', 'everybody can read it')
  await button(dialog, 'Close').click()
  await page.locator('.rows:focus').waitFor()

  const mark = row(page, 'letter.txt').getByRole('img', { name: 'Published, and not changed since' })
  await mark.waitFor()
  t.equal(await page.getByRole('img').count(), 1, 'only what is published has a mark')
  await button(page, 'Select nothing').click()
  await page.locator('.legend').getByText('Published').waitFor()
  await put(scene.ada, '/letter.txt', 'another content')
  await mark.waitFor({ state: 'detached' })
  t.equal(await (await fetch(address)).text(), 'content of /letter.txt', 'what was published stays')
})

test(
  'people elsewhere scan the address at which they reach the node',
  async (t, scene) => {
    const address = await publish(scene, 'letter.txt')
    t.match(address, /^https:\/\/home\.example\.org\/ipfs\/b/)
    t.equal(await textOf(scene.dialog.getByRole('img', { name: 'The address as a QR code' })), address)
    t.equal(await scene.dialog.getByText('Addresses of this node work only').count(), 0)
  },
  { plugins: { ipfs: true }, server: { publicUrl: 'https://home.example.org' } },
)

test('what is published is listed, opened, published again and withdrawn', async (t, scene) => {
  const { page, ada, dialog, open } = scene
  await open('Published')
  await page.getByText('You have published nothing yet.').waitFor()
  await open('Files')
  for (const name of ['letter.txt', 'gone.txt']) {
    await publish(scene, name)
    await button(dialog, 'Close').click()
    await row(page, name).getByRole('checkbox').click()
  }
  const address = await publish(scene, 'trip')
  await put(ada, '/letter.txt', 'another content')
  await ada.fetch('/delete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/gone.txt' }),
  })
  await dialog.getByRole('link', { name: 'All published' }).click()
  const item = (name: string) =>
    page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) })
  await item('gone.txt').getByText('It is not among your files any more.').waitFor()
  await item('letter.txt').getByText('What was published stays as it was.').waitFor()
  t.equal(await item('trip').locator('.state').count(), 0)
  const place = (name: string) => item(name).getByRole('link', { name, exact: true })
  t.equal(await place('letter.txt').getAttribute('href'), '#/files', 'the name leads to the folder')
  t.equal(await place('gone.txt').count(), 0)
  await page.getByText('Addresses of this node work only on its own computer').waitFor()
  await page.getByText(/^Everything together takes \d+ B\.$/).waitFor()

  await button(page, 'Copy the address: /trip').click()
  await item('trip').getByText('Copied.').waitFor()
  t.equal(await page.evaluate('navigator.clipboard.readText()'), address)
  await page.emulateMedia({ colorScheme: 'dark' })
  const [opened] = await Promise.all([
    page.waitForEvent('popup'),
    item('trip').getByRole('link', { name: '/ipfs/' }).click(),
  ])
  await opened.emulateMedia({ colorScheme: 'dark' })
  t.equal(opened.url(), address)
  await opened.getByRole('link', { name: 'b.txt' }).waitFor()
  const light = 'rgb(255, 255, 255)'
  t.equal(await opened.evaluate('getComputedStyle(document.body).color'), light, 'it is dark where pages are')
  await opened.close()

  await button(page, 'Publish again: /letter.txt').click()
  await page.getByText('"/letter.txt" is published.').waitFor()
  await item('letter.txt').nth(1).waitFor()
  t.equal(await item('letter.txt').count(), 2)
  await button(page, 'Withdraw: /trip').click()
  await dialog.getByText('The address stops working.').waitFor()
  await button(dialog, 'Cancel').click()
  await button(page, 'Withdraw: /trip').click()
  await button(dialog, 'Withdraw').click()
  await item('trip').waitFor({ state: 'detached' })
  // The focus goes to the heading.
  await hasFocus(page, 'Published')
  t.equal((await fetch(address)).status, 404)
})

test('a publication that takes long shows how far it is, and goes on without its dialog', async (t, scene) => {
  const { page, dialog, open } = scene
  const adding = { id: '1', path: '/trip', cid: null, size: 0, files: 0, publishedAt: null, url: null }
  const list = {
    publications: [
      { ...adding, state: 'adding', addedBytes: 2_500_000 },
      { ...adding, id: '2', path: '/large', state: 'failed', problem: 'It has too many bytes.' },
    ],
    bytes: 0,
  }
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/api/ipfs/publish', async (route) => {
    await isReleased
    await route.continue()
  })
  const endList = await answerRequests(page, '**/api/ipfs/publications', (route) =>
    route.fulfill({ json: list }),
  )
  await row(page, 'trip').getByRole('checkbox').click()
  await offerToPublish(page)
  await button(dialog, 'Publish a copy').click()
  await dialog.getByText('2.5 MB are read.').waitFor()
  await button(dialog, 'Close').click()
  await open('Published')
  await page.getByText('2.5 MB are read.').waitFor()
  endList()
  release()
  await page.getByText('"trip" is published.').waitFor()
  await button(page, 'Withdraw: /trip').waitFor()

  await page.route('**/api/ipfs/publications', (route) => route.fulfill({ json: list }))
  await open('Files')
  await open('Published')
  const [cancelled] = await Promise.all([
    page.waitForRequest('**/api/ipfs/withdraw'),
    button(page, 'Cancel: /trip').click(),
  ])
  t.strictSame(cancelled.postDataJSON(), { id: '1' })
  await page.getByText('It could not be published: It has too many bytes.').waitFor()
  await button(page, 'Publish again: /large').waitFor()
  const [removed] = await Promise.all([
    page.waitForRequest('**/api/ipfs/withdraw'),
    button(page, 'Remove from the list: /large').click(),
  ])
  t.strictSame(removed.postDataJSON(), { id: '2' })
})

test('a failure says why, and can be tried again', async (t, scene) => {
  const { page, dialog, open } = scene
  const refusal = { error: true, message: 'The disk of the node is full.', code: 'INSUFFICIENT_STORAGE' }
  await answerOnce(page, '**/api/ipfs/publish', (route) => route.fulfill({ status: 507, json: refusal }))
  await row(page, 'letter.txt').getByRole('checkbox').click()
  await offerToPublish(page)
  await button(dialog, 'Publish a copy').click()
  await dialog.getByRole('alert').getByText('The disk of the node is full.').waitFor()
  await answerOnce(page, '**/api/ipfs/publish', (route) => route.abort())
  await button(dialog, 'Publish a copy').click()
  await dialog.getByRole('alert').getByText('The node did not answer. Try again.').waitFor()
  await answerOnce(page, '**/qr-modules.js', (route) => route.abort())
  await button(dialog, 'Publish a copy').click()
  await dialog.getByText('It is published at this address:').waitFor()
  t.equal(await dialog.getByRole('img').count(), 0, 'the address is there without its code')
  await dialog.getByRole('link', { name: 'All published' }).click()
  await answerOnce(page, '**/api/ipfs/withdraw', (route) => route.fulfill({ status: 507, json: refusal }))
  await button(page, 'Withdraw: /letter.txt').click()
  await button(dialog, 'Withdraw').click()
  await page.getByText('The disk of the node is full.').waitFor()
  await page.route('**/api/ipfs/publications', (route) => route.fulfill({ status: 500, json: refusal }))
  await open('Files')
  await open('Published')
  await page.getByRole('alert').getByText('The disk of the node is full.').waitFor()
})

test('a CAR file is imported into the folder that is shown, or uploaded as it is', async (t, scene) => {
  const { page, ada, dialog } = scene
  const address = new URL(await publish(scene, 'trip'))
  await button(dialog, 'Close').click()
  const car = await ada.fetch(`${address.pathname}?format=car`)
  const buffer = Buffer.from(await car.arrayBuffer())
  await row(page, 'trip').getByRole('link').click()
  await row(page, 'a.txt').waitFor()
  const file = { name: 'copy.car', mimeType: 'application/vnd.ipld.car', buffer }
  const chooser = page.getByLabel('Import a CAR file')
  await chooser.setInputFiles(file)
  await page.getByText('2 files with 44 B came into /trip/copy.').waitFor()
  await row(page, 'copy').waitFor()
  t.equal(await (await ada.fetch('/read?path=/trip/copy/b.txt')).text(), 'content of /trip/b.txt')

  await page.getByLabel('Upload', { exact: true }).setInputFiles(file)
  await row(page, 'copy.car').waitFor()
  const stored = Buffer.from(await (await ada.fetch('/read?path=/trip/copy.car')).arrayBuffer())
  t.ok(stored.equals(buffer))

  await chooser.setInputFiles({ ...file, name: 'cut.car', buffer: buffer.subarray(0, -1) })
  const failed = page.locator('.tasks li', { hasText: 'Import cut.car' })
  await failed.locator('.fault').waitFor()
  t.match(await failed.locator('.fault').textContent(), /CAR/)
})

test(
  'a node without the plugin offers nothing of it',
  async (t, { page }) => {
    await row(page, 'letter.txt').getByRole('checkbox').click()
    t.ok(await button(page, 'Delete').isEnabled())
    t.equal(await page.getByText(/Publish|Import/).count(), 0)
  },
  { plugins: {} },
)

/** Reads a QR code, as the camera of a phone does. */
async function textOf(code: Locator): Promise<string> {
  const scale = 4
  const size = scale * Number((await code.getAttribute('viewBox'))?.split(' ')[2])
  const data = new Uint8Array(4 * size * size).fill(255)
  const dark = (await code.locator('path').getAttribute('d')) ?? ''
  for (const [, x, y] of dark.matchAll(/M(\d+) (\d+)/g)) {
    for (let row = 0; row < scale; row += 1) {
      const start = (Number(y) * scale + row) * size + Number(x) * scale
      for (let pixel = start; pixel < start + scale; pixel += 1) data.fill(0, 4 * pixel, 4 * pixel + 3)
    }
  }
  return decodeQR({ width: size, height: size, data })
}
