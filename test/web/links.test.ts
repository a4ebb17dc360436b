import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { answerOnce } from '../browser/answer-requests.ts'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { hasFocus } from '../browser/until-true.ts'
import { openPage } from './fixtures/frame.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

// One at a time: the tabs of a browser share its clipboard.
t.jobs = 1

const browser = needsChromium ? null : await startChromium(t)
const node = needsChromium
  ? null
  : await createTestNode({
      config: {
        plugins: { files: true, 'storage-local': true, previews: true, shares: true, web: true },
      },
      folder: import.meta.dirname,
    })
t.teardown(() => node?.stop())

/** A picture of one pixel, a GIF. */
const onePixel = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;'

/** A picture with a place, a camera and a time. */
const photo = readFileSync(new URL('../../plugins/previews/test/fixtures/files/photo.jpg', import.meta.url))

interface Scene {
  readonly page: Page
  readonly ada: TestUser
  readonly dialog: Locator
}

function test(name: string, run: (t: Test, scene: Scene) => Promise<void>): void {
  t.test(name, { skip: needsChromium }, async (t) => {
    if (node === null || browser === null) return
    const ada = await node.signIn()
    for (const path of ['/letter.txt', '/trip/a.txt']) await put(ada, path, `content of ${path}`)
    await put(ada, '/trip/photo.jpg', onePixel)
    const { page, context, faults } = await openSignedInTab(browser as Browser, node, ada)
    t.teardown(() => context.close())
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByText(/entries$/).waitFor()
    await run(t, { page, ada, dialog: page.getByRole('dialog') })
    t.strictSame(faults, [])
  })
}

const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true })

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

const card = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name })

async function isInWindow(element: Locator): Promise<boolean> {
  const box = await element.boundingBox()
  const { height } = element.page().viewportSize() ?? { height: 0 }
  return box !== null && box.y >= 0 && box.y + box.height <= height
}

async function put(user: TestUser, path: string, content: string): Promise<void> {
  const { status } = await user.fetch(`/write?path=${path}`, { method: 'PUT', body: content })
  if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
}

async function post(user: TestUser, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return user.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Makes a link without the pages, and returns its address. */
async function share(user: TestUser, path: string, terms: object = {}): Promise<string> {
  const answer = await post(user, '/api/shares', { path, kind: 'read', ...terms })
  const { url } = (await answer.json()) as { url: string }
  return url
}

interface Listed {
  readonly path: string
  readonly kind: string
  readonly expires: string
  readonly password: boolean
  readonly keepMetadata: boolean
  readonly askSender: boolean
  readonly maxBytes: number | null
  readonly maxFiles: number | null
}

async function listed(user: TestUser): Promise<readonly Listed[]> {
  const { shares } = (await (await user.fetch('/api/shares')).json()) as { shares: Listed[] }
  return shares
}

/** Days from now until a link ends, rounded. */
function daysUntil({ expires }: Pick<Listed, 'expires'>): number {
  return Math.round((Date.parse(expires) - Date.now()) / 86_400_000)
}

test('a folder is shared by its menu, and its address is copied', async (t, { page, ada, dialog }) => {
  await row(page, 'trip').getByRole('checkbox').click()
  await page.setViewportSize({ width: 390, height: 844 })
  await button(page, 'Share').click()
  await dialog.getByText('Guests need no account.').waitFor()
  await dialog.getByText('Addresses of this node work only on its own computer').waitFor()
  t.ok(await isInWindow(button(dialog, 'Make the link')), 'nothing has to be scrolled for the button')
  const cleans = dialog.getByLabel('Remove place and camera data from pictures')
  t.ok(await cleans.isChecked())
  const [choice, agree] = [await cleans.boundingBox(), await button(dialog, 'Make the link').boundingBox()]
  t.ok(
    choice && agree && choice.y + choice.height < agree.y,
    'a phone shows the last choice above the buttons',
  )
  await page.setViewportSize({ width: 1280, height: 720 })
  await dialog.getByText('What pictures have, and what guests get').click()
  await dialog.getByText('The picture as it is, upright and in its colors, and nothing else.').waitFor()
  await cleans.click()
  await dialog.getByText('All of it, also the place.').waitFor()
  await cleans.click()
  await dialog.getByLabel('The link ends').selectOption('in 7 days')
  await dialog.getByLabel('Ask guests for a password').click()
  await dialog.getByLabel('Password', { exact: true }).fill('open sesame')
  await button(dialog, 'Make the link').click()
  await dialog.getByText('Copy the link now.').waitFor()
  await dialog.getByText('Addresses of this node work only on its own computer').waitFor()
  t.equal(await dialog.getByRole('img').count(), 0, 'another device cannot use a QR code')
  await hasFocus(page, 'Copy the link')
  await page.keyboard.press('Enter')
  await dialog.getByText('Copied.').waitFor()
  const address = (await dialog.getByRole('link').first().getAttribute('href')) ?? ''
  t.equal(await page.evaluate('navigator.clipboard.readText()'), address)
  t.match(address, /\/s\/[\w-]{43}/)
  const [made] = await listed(ada)
  t.match(made, { path: '/trip', kind: 'read', password: true, keepMetadata: false, maxFiles: null })
  t.equal(made && daysUntil(made), 7)
  await button(dialog, 'Close').click()
  await page.locator('.rows:focus').waitFor()
  await row(page, 'trip').getByRole('img', { name: 'Has a link for guests' }).waitFor()

  await row(page, 'trip').click({ button: 'right' })
  await page.getByRole('menuitem', { name: 'Share' }).click()
  await dialog.getByText('There is a link already.').waitFor()
  await dialog.getByRole('link', { name: 'All links' }).click()
  await card(page, 'trip').getByText('with a password').waitFor()
})

test('guests upload by a link within its limits', async (t, { page, ada, dialog }) => {
  await row(page, 'trip').getByRole('checkbox').click()
  await button(page, 'Share').click()
  await dialog.getByLabel('Look, download and upload').click()
  await dialog.getByText('They see what other guests upload.').waitFor()
  await dialog.getByRole('radio', { name: /^Upload/ }).click()
  await dialog.getByLabel('Remove place and camera data').waitFor({ state: 'detached' })
  await dialog.getByLabel('Most that guests upload in all, in GB').fill('0.5')
  await dialog.getByLabel('Most files that guests upload').fill('1')
  await dialog.getByLabel('Ask guests for their name when they upload').click()
  await button(dialog, 'Make the link').click()
  await dialog.getByText('Copy the link now.').waitFor()
  const [made] = await listed(ada)
  t.match(made, { kind: 'drop', maxBytes: 500_000_000, maxFiles: 1, askSender: true, password: false })
  t.equal(made && daysUntil(made), 30)
  await button(dialog, 'Close').click()
  await openPage(page, 'Links')
  await card(page, 'trip').getByText('0 of 1 file and 0 B of 500 MB uploaded').waitFor()
})

test('a file is shared while it is shown, and by its details', async (t, { page, ada, dialog }) => {
  await row(page, 'letter.txt').getByRole('link').click()
  const viewer = page.getByRole('dialog', { name: 'letter.txt', exact: true })
  await button(viewer, 'Share').click()
  const sharing = page.getByRole('dialog', { name: 'Share: letter.txt' })
  await sharing.getByLabel('The link ends').waitFor()
  t.equal(await sharing.getByText(/Guests can|camera data/).count(), 0, 'a text is only read')
  await page.keyboard.press('Escape')
  await sharing.waitFor({ state: 'detached' })
  await button(viewer, 'Share').click()
  await button(sharing, 'Make the link').click()
  await sharing.getByText('Copy the link now.').waitFor()
  await button(sharing, 'Close').click()
  t.match(await listed(ada), [{ path: '/letter.txt', kind: 'read' }])
  await button(viewer, 'Close').click()
  await row(page, 'letter.txt').getByRole('img', { name: 'Has a link for guests' }).waitFor()

  await row(page, 'letter.txt').getByRole('checkbox', { checked: true }).waitFor()
  await button(page, 'Details').click()
  const details = page.getByRole('complementary', { name: 'Details' })
  await details.getByRole('link', { name: 'Has a link for guests' }).waitFor()
  await button(details, 'Share').click()
  await dialog.getByText('There is a link already.').waitFor()
})

test('the dialog says what the shared picture has, and what guests get', async (_t, {
  page,
  ada,
  dialog,
}) => {
  await ada.fetch('/write?path=/album/photo.jpg', { method: 'PUT', body: photo })
  await put(ada, '/album/phone.heic', '\0\0\0\x18ftypheic\0\0\0\0mif1heic')
  const isRead = async () => {
    const answer = await ada.fetch('/api/previews/photo?path=/album/photo.jpg')
    return ((await answer.json()) as { photo: object | null }).photo !== null
  }
  while (!(await isRead())) await delay(50)
  await openPage(page, 'Links')
  await openPage(page, 'Files')
  const shared = async (name: string, seen: (sharing: Locator) => Promise<void>) => {
    await row(page, name).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Share' }).click()
    await seen(dialog)
    await button(dialog, 'Cancel').click()
    await dialog.waitFor({ state: 'detached' })
  }
  const notSent = /^Not "phone\.heic": the node cannot clean pictures of this format\.$/
  await shared('album', (sharing) => sharing.getByText(notSent).waitFor({ state: 'attached' }))
  await row(page, 'album').getByRole('link').click()
  await shared('photo.jpg', async (sharing) => {
    const data = sharing.getByText(/^the place 48\.20833, -16\.37306, the camera Acme One, the time .*2026/)
    await data.waitFor({ state: 'attached' })
    await sharing.getByText('"photo.jpg" has').waitFor({ state: 'attached' })
    await sharing.getByText('The picture as it is, upright').waitFor({ state: 'attached' })
  })
  await shared('phone.heic', (sharing) => sharing.getByText(notSent).waitFor({ state: 'attached' }))
})

test('links are changed, replaced, and end', async (t, { page, ada, dialog }) => {
  await openPage(page, 'Links')
  await page.getByText('You have no links yet').waitFor()
  const address = await share(ada, '/trip', { kind: 'both', password: 'first' })
  await share(ada, '/letter.txt')
  await openPage(page, 'Files')
  await openPage(page, 'Links')
  const trip = card(page, 'trip')
  await trip.getByText('Nobody has used it yet.').waitFor()

  await button(trip, 'Change: trip').click()
  await dialog.getByLabel('Look and download').click()
  await dialog.getByLabel('Remove place and camera data from pictures').click()
  await dialog.getByLabel('Ask guests for a password').click()
  await button(dialog, 'Save').click()
  await page.getByText('The link is changed.').waitFor()
  await trip.getByText('Pictures are sent with their place and camera data.').waitFor()
  const changed = (await listed(ada)).find(({ path }) => path === '/trip')
  t.match(changed, { kind: 'read', password: false, keepMetadata: true })
  t.equal(changed && daysUntil(changed), 30, 'what was not chosen stays')

  t.equal((await fetch(address)).status, 200)
  await openPage(page, 'Files')
  await openPage(page, 'Links')
  await trip.getByText(/^Last used today .*: 1 visit/).waitFor()
  await trip.getByText('Last uses').click()
  await trip.getByText('Looked at it').waitFor()

  await button(trip, 'Replace the link: trip').click()
  await dialog.getByText('The old one stops working at once.').waitFor()
  await button(dialog, 'Replace the link').click()
  await dialog.getByText('Copy the link now.').waitFor()
  const renewed = (await dialog.getByRole('link').getAttribute('href')) ?? ''
  t.not(renewed, address)
  t.equal((await fetch(address)).status, 404)
  t.equal((await fetch(renewed)).status, 200)
  await button(dialog, 'Close').click()

  await button(trip, 'End: trip').click()
  await dialog.getByText('The address stops working at once').waitFor()
  await button(dialog, 'Cancel').click()
  await button(trip, 'End: trip').click()
  await button(dialog, 'End').click()
  await page.getByText('The link has ended.').waitFor()
  await trip.waitFor({ state: 'detached' })
  t.equal((await fetch(renewed)).status, 404)
  await card(page, 'letter.txt').waitFor()
})

test('a link of something that came back is opened again', async (t, { page, ada }) => {
  const address = await share(ada, '/letter.txt')
  await post(ada, '/delete', { path: '/letter.txt' })
  await openPage(page, 'Links')
  const letter = card(page, 'letter.txt')
  await letter.getByText('The file or folder was deleted, so the link does not work.').waitFor()
  t.equal(await button(letter, 'Open it again: letter.txt').count(), 0)
  const { items } = (await (await ada.fetch('/api/files/trash')).json()) as { items: { id: string }[] }
  await post(ada, '/api/files/trash/restore', { id: items[0]?.id })
  await openPage(page, 'Files')
  await openPage(page, 'Links')
  await letter.getByText('The link stays closed until you open it again.').waitFor()
  t.equal((await fetch(address)).status, 404)
  await button(letter, 'Open it again: letter.txt').click()
  await letter.getByText('The link stays closed').waitFor({ state: 'detached' })
  t.equal((await fetch(address)).status, 200)
})

test('the node says why it makes no link', async (_t, { page, dialog }) => {
  const refusal = { error: true, message: 'You have 200 links. End one of them first.', code: 'CONFLICT' }
  await answerOnce(page, '**/api/shares', (route) => route.fulfill({ status: 409, json: refusal }))
  await row(page, 'letter.txt').getByRole('checkbox').click()
  await button(page, 'Share').click()
  await button(dialog, 'Make the link').click()
  await dialog.getByRole('alert').getByText('You have 200 links.').waitFor()
  await button(dialog, 'Make the link').click()
  await dialog.getByText('Copy the link now.').waitFor()
})

t.test('the owner of the node sees and ends the links of others', { skip: needsChromium }, async (t) => {
  if (node === null || browser === null) return
  const [ada, owner] = [await node.signIn(), await node.signIn('owner')]
  await put(ada, '/diary.txt', 'content')
  const address = await share(ada, '/diary.txt')
  const { page, context, faults } = await openSignedInTab(browser, node, owner)
  t.teardown(() => context.close())
  await openPage(page, 'Links')
  const diary = page
    .getByRole('list', { name: 'Links of others' })
    .getByRole('listitem')
    .filter({ hasText: 'diary.txt' })
  await diary.getByText(`Made by ${ada.user.username}`).waitFor()
  t.equal(await diary.getByRole('button').count(), 1, 'the owner changes none')
  t.equal(await diary.getByRole('link').count(), 0)
  await button(diary, 'End: diary.txt').click()
  await button(page.getByRole('dialog'), 'End').click()
  await diary.waitFor({ state: 'detached' })
  t.equal((await fetch(address)).status, 404)
  await page.getByRole('link', { name: 'How others can reach it' }).click()
  await page.getByRole('heading', { name: 'Outside access' }).waitFor()
  t.strictSame(faults, [])
})
