import { createTestNode } from '@nodekeep/kernel/testing'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { root } from '../run/command.ts'
import { chooseNew } from './fixtures/frame.ts'
import { fewLooks, inspectPage, openPlace, showAs } from './fixtures/inspect-page.ts'
import { wat } from './fixtures/plugin-fixtures.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'
import { startTalkingModel } from './fixtures/talking-model.ts'

/** States are menus, dialogs, faults, and what is empty, is selected or runs. */
t.test('each state of a page is accessible', { skip: needsChromium }, async (t) => {
  const { baseURL, nextTalk } = await startTalkingModel(t)
  const config = {
    extends: 'nodekeep:default',
    ai: { models: { waitMs: 30_000 }, retries: { max: 0 } },
    'ai-openai': { baseURL },
    backup: { drill: false },
  }
  const node = await createTestNode({ config, folder: root })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  await node.signIn()
  const { page, context, faults } = await openSignedInTab(await startChromium(t), node, owner)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const inspect = (name: string) => inspectPage(t, page, name, fewLooks)
  const open = (place: string) => openPlace(page, node.url, place)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')
  const inDialog = (name: string) => dialog.getByRole('button', { name, exact: true })
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })
  const put = async (path: string, body: string | Uint8Array) => {
    const { status } = await owner.fetch(`/write?path=${encodeURIComponent(path)}`, {
      method: 'PUT',
      body: Buffer.from(body),
    })
    if (status !== 200) throw new Error(`${path} was refused with ${status}.`)
  }
  const choose = (...names: string[]) => {
    const files = names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`new ${name}`) }))
    return page.locator('input[type=file][multiple]').first().setInputFiles(files)
  }
  const line = page.getByRole('region', { name: 'Uploads and changes' })

  for (const place of ['photos', 'chat', 'trash', 'published', 'wasm', 'files']) {
    await open(place)
    await inspect(`${place}-empty`)
  }

  await showAs(page, 'phone')
  await button('New').click()
  await page.getByRole('menuitem', { name: 'New folder' }).waitFor()
  await inspect('files-new')
  await page.getByRole('menuitem', { name: 'New folder' }).click()
  await page.getByLabel('Name of the folder').fill('../b')
  await page.keyboard.press('Enter')
  await page.getByText('A name cannot be empty').waitFor()
  await inspect('files-name-fault')
  await inDialog('Cancel').click()
  await put('/To do.txt', 'water the plants')
  await put('/Letters/a.txt', 'Dear Ms. Lindt')
  await put('/data.bin', new Uint8Array([0, 1, 2]))
  await row('To do.txt').getByRole('checkbox').check()
  await button('Rename').click()
  await inspect('files-rename')
  await inDialog('Cancel').click()
  await button('Move').click()
  await inDialog('New folder').waitFor()
  await inspect('files-move')
  await inDialog('Cancel').click()
  await chooseNew(page, 'New text')
  await page.getByLabel('Name of the text').fill('Plan.md')
  await page.keyboard.press('Enter')
  await page.getByLabel('Text of Plan.md').fill('# Plan')
  await inspect('editor')
  await page.keyboard.press('Escape')
  await inDialog('Do not save').waitFor()
  await inspect('editor-leave')
  await inDialog('Do not save').click()
  await dialog.first().waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'data.bin' }).click()
  await dialog.getByText('This file cannot be shown here').waitFor()
  await inspect('viewer-no-view')
  await dialog.getByRole('button', { name: 'Close' }).click()

  await page.route('**/write?path=%2Fslow.txt', () => {})
  await choose('slow.txt')
  await line.getByText('(0/1)').waitFor()
  await row('To do.txt').getByRole('checkbox').check()
  await inspect('files-uploading')
  for (const kind of ['desktop', 'phone'] as const) {
    await showAs(page, kind)
    for (const element of [line, page.locator('.rows')])
      t.notOk(await overlap(element, page.locator('.bottom-bar')), `${kind}: the bar covers nothing`)
  }
  await line.getByRole('button', { name: 'Cancel all' }).click()
  await button('Select nothing').click()
  await line.getByRole('button', { name: 'Clear' }).click()
  await choose('To do.txt')
  await inDialog('Keep both').waitFor()
  await inspect('files-conflict')
  await inDialog('Skip').click()
  await line.getByRole('button', { name: 'Clear' }).click()
  const json = { error: true, message: 'The disk of the node is full.', code: 'INSUFFICIENT_STORAGE' }
  await page.route('**/write?path=%2Ffull.txt', (route) => route.fulfill({ status: 507, json }))
  await choose('full.txt')
  await line.getByText('The disk of the node is full.').waitFor()
  await inspect('files-failed')
  await line.getByRole('button', { name: 'Clear' }).click()
  await choose('one.txt', 'two.txt')
  await page.getByText('Uploaded 2 entries.').waitFor()
  await row('two.txt').waitFor()
  // With the focus, the notice stays.
  await button('Undo').focus()
  await inspect('files-uploaded')
  await showAs(page, 'phone')
  const { height = 0 } = (await page.locator('.rows').boundingBox()) ?? {}
  t.ok(height > 844 / 2, `the list has most of a phone after an upload: ${height}`)
  for (const name of ['.rows', '.files .tasks', '.files .new'])
    t.notOk(await overlap(page.locator('.toast'), page.locator(name)), `the notice does not cover ${name}`)
  await open('files/No such folder')
  await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
  await inspect('files-fault')
  await page.getByRole('searchbox').fill('no such word')
  await page.getByText('Nothing was found.').waitFor()
  await inspect('search-nothing')

  await put('/fern.png', await pictureIn(page))
  await untilTrue(
    page,
    "fetch('/api/previews/photos/months').then((answer) => answer.json()).then(({ months }) => months.length > 0)",
  )
  await open('photos')
  await button('Select').click()
  await page.getByRole('checkbox', { name: 'Select: fern.png' }).check()
  await page.getByText('1 selected').waitFor()
  await inspect('photos-selected')
  t.notOk(await overlap(page.locator('.months'), page.locator('.bottom-bar')), 'the bar covers no photo')

  await open('chat')
  const message = page.getByLabel('Message', { exact: true })
  await message.fill('How long does a cake bake?')
  await message.press('Enter')
  const talk = await nextTalk()
  talk.say('About **40 minutes**')
  await page.getByRole('article').last().locator('strong').waitFor()
  await inspect('chat-writing')
  talk.end()
  await button('Send').waitFor()
  await button('Edit the question').click()
  await page.getByLabel('Question', { exact: true }).waitFor()
  await inspect('chat-edit')
  await page.getByLabel('Question', { exact: true }).press('Escape')
  await button('Attach files').click()
  await page.getByRole('menu').waitFor()
  await inspect('chat-attach')
  await page.keyboard.press('Escape')
  await message.fill('And two?')
  await message.press('Enter')
  ;(await nextTalk()).fail()
  await page.getByRole('alert').filter({ hasText: 'The model is out of memory.' }).waitFor()
  await inspect('chat-failed')
  await showAs(page, 'phone')
  await page.getByText('Conversations', { exact: true }).click()
  await page.getByLabel('Search conversations').waitFor()
  await inspect('chat-list')
  await button('Delete').click()
  await button('Undo').focus()
  await inspect('chat-deleted')
  for (const kind of ['desktop', 'phone'] as const) {
    await showAs(page, kind)
    const isOver = await overlap(page.locator('.toast'), page.locator('form.message'))
    t.notOk(isOver, `${kind}: the notice does not cover the message`)
  }
  await open('trash')
  await button('Empty the trash').click()
  await dialog.waitFor()
  await inspect('trash-question')
  await inDialog('Cancel').click()

  await open('node/users')
  await page
    .getByRole('button', { name: /^Actions: / })
    .last()
    .click()
  await page.getByRole('menu').waitFor()
  await inspect('node-user-menu')
  await page.getByRole('menuitem', { name: 'Quota' }).click()
  await dialog.waitFor()
  await inspect('node-user-quota')
  await inDialog('Cancel').click()
  await open('node/backups')
  await page.locator('.attention-badge').waitFor()
  await button('Back up now').click()
  await page.getByText(/The backup backup-\S+ is complete\./).waitFor()
  // The badge follows.
  await page.locator('.attention-badge').waitFor({ state: 'detached' })
  await inspect('node-backup-made')
  await page.getByRole('button', { name: /^Find a file: / }).click()
  await page.getByLabel('Name, or a part of it').fill('do')
  await inDialog('Find').click()
  await dialog.getByText('was found').waitFor()
  await inspect('node-find')
  await inDialog('Close').click()
  await page.getByRole('button', { name: /^Restore: / }).click()
  await dialog.waitFor()
  await inspect('node-restore')
  await inDialog('Cancel').click()

  await open('account')
  await button('Make a sign-in code').click()
  await page.getByLabel('Your sign-in code').waitFor()
  await page.getByText('Let a program in').click()
  await page.getByLabel('Name of the program').fill('laptop')
  await button('Make a token').click()
  await page.getByText('Choose at least one.').waitFor()
  await inspect('account-fault')
  await page.getByRole('checkbox', { name: 'Read your files' }).check()
  await button('Make a token').click()
  await page.getByLabel('Your token. It is shown only once').waitFor()
  await inspect('account-token')

  await put(
    '/add.wasm',
    await wat(
      '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))',
    ),
  )
  await open('wasm/add.wasm')
  await page.getByLabel('Number 1 (i32)').fill('40')
  await page.getByLabel('Number 2 (i32)').fill('2')
  await button('Call: add').click()
  await page.getByRole('status').locator('output').getByText('42', { exact: true }).waitFor()
  await inspect('wasm-result')

  await showAs(page, 'phone')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Trash' }).waitFor()
  await inspectPage(t, page, 'more', [['phone', 'light']])
  await page.keyboard.press('Escape')
  await context.clearCookies()
  await button('Call: add').click()
  await page.getByRole('dialog', { name: 'Sign in again' }).getByRole('button').nth(1).waitFor()
  await inspect('sign-in-again')
  await inDialog('Cancel').click()
  t.strictSame(faults, [])
})

/** Whether two elements have a point in common. */
async function overlap(one: Locator, other: Locator): Promise<boolean> {
  const [a, b] = [await one.boundingBox(), await other.boundingBox()]
  if (a === null || b === null) throw new Error('An element is not shown.')
  const isApart =
    a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
  return !isApart
}

/** Draws a picture, as PNG. */
async function pictureIn(page: Page): Promise<Uint8Array> {
  const drawn = (await page.evaluate(`new Promise((resolve) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 })
    canvas.getContext('2d').fillRect(0, 0, 99, 99)
    resolve(canvas.toDataURL().split(',')[1])
  })`)) as string
  return new Uint8Array(Buffer.from(drawn, 'base64'))
}
