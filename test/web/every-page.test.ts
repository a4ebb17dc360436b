import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { serveDesign } from '../design/serve.ts'
import { root } from '../run/command.ts'
import { startClaimableNode } from './claimable-node.ts'
import { chooseNew } from './fixtures/frame.ts'
import { allLooks, inspectPage, openPlace, pictures } from './fixtures/inspect-page.ts'
import { storePast } from './fixtures/past-history.ts'
import { startTalkingModel } from './fixtures/talking-model.ts'
import { addWallet } from './wallet.ts'

/** Files that the pictures show. */
const shownFiles = {
  '/Recipes/Apple cake.txt':
    '3 apples, 200 g of flour, 100 g of sugar, 2 eggs. Bake for 40 minutes at 180 °C.\n',
  '/Recipes/Lentil soup.txt': 'Lentils, carrots, leek, a bay leaf.\n',
  '/Letters/2026-11 landlord.txt': 'Dear Ms. Lindt,\n',
  '/Budget 2026.csv': 'month,rent,food\nJanuary,840,310\n',
  '/chats/2026-11-20 Apple cake.json': JSON.stringify({
    messages: [
      { role: 'user', content: 'How long does an apple cake bake?' },
      {
        role: 'assistant',
        content:
          'About **40 minutes** at 180 °C. It is done when a wooden stick comes out clean:\n\n1. Heat the oven first.\n2. Put the cake on the lower rack.\n3. Let it cool for ten minutes.\n\n```sh\nsleep 40m && echo "Cake!"\n```',
        model: 'openai/gpt-small',
      },
    ],
  }),
  '/To do.txt': '- renew the passport\n- water the plants\n',
}

/** Pictures of one color each. */
const shownPictures = {
  'Cherry.jpg': 'firebrick',
  'Cornflower.jpg': 'cornflowerblue',
  'Fern.jpg': 'seagreen',
  'Sunflower.jpg': 'goldenrod',
  'Violet.jpg': 'indigo',
}

const day = 86_400_000

/** A month of a node that grows to what the pictures show. */
function pastMonth(free: number): ReturnType<Parameters<typeof storePast>[1]> {
  const measured = (ago: number, daysAgo: number) => ({
    ago,
    free: free + Math.round(daysAgo * 100_000_000),
    files: 14_000 - Math.round(300 * daysAgo) - 2500 * Number(daysAgo > 12),
    requests: Math.round(120 + 100 * Math.sin((2 * Math.PI * ago) / 24)),
    load: 0.08,
  })
  return {
    days: Array.from({ length: 28 }, (_, i) => measured(30 - i, 30 - i)),
    hours: Array.from({ length: 48 }, (_, i) => measured(48 - i, (48 - i) / 24)),
  }
}

t.test(
  'each page is accessible, light and dark, on a desktop and on a phone',
  { skip: needsChromium },
  async (t) => {
    const { baseURL } = await startTalkingModel(t)
    const settings = {
      NODEKEEP_AI_OPENAI__BASE_URL: baseURL,
      // The plots end with what is there now.
      NODEKEEP_NODE_HISTORY__MEASURE_SECONDS: '1',
      // As npm does for a node that somebody starts by "npm start".
      npm_lifecycle_event: 'start',
    }
    const folder = t.testdir({})
    await storePast(folder, pastMonth)
    const node = await startClaimableNode(t, folder, '0', settings)
    const browser = await startChromium(t)
    const openContext = async () => {
      const context = await browser.newContext({ reducedMotion: 'reduce' })
      context.setDefaultTimeout(60_000)
      await addWallet(context)
      return context
    }
    const page = await (await openContext()).newPage()
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))

    const inspect = (name: string, looks = allLooks) => inspectPage(t, page, name, looks)
    const onPhone = allLooks.filter(([kind]) => kind === 'phone')
    const onDesktop = allLooks.filter(([kind]) => kind === 'desktop')
    if (pictures !== undefined) {
      await page.route('**/api/system/health', olderBy(11 * day))
      await page.route('**/api/backup/status', inFolder('/home/ada/nodekeep/data/backups'))
      await page.route('**/api/system/plugins', withSourcesIn('/home/ada/nodekeep/'))
    }

    await page.goto(/\S+#claim=\S+/.exec(node.banner)?.[0] ?? '')
    await page.getByRole('heading', { name: 'Welcome to your new node' }).waitFor()
    await inspect('sign-in')
    await page.getByRole('button', { name: 'I have a backup' }).click()
    await page.getByRole('heading', { name: 'Bring back a backup' }).waitFor()
    await inspect('restore')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'I have a wallet' }).click()
    await page.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
    await page.getByLabel('Your name').fill('Ada')
    await inspect('name')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()

    const stranger = await (await openContext()).newPage()
    stranger.on('pageerror', ({ message }) => faults.push(message))
    await stranger.goto(node.url.href)
    const other = stranger.getByRole('button', { name: 'Sign in with Test Wallet' })
    await other.waitFor()
    await inspectPage(t, stranger, 'sign-in-owned')
    await other.click()
    await stranger.getByLabel('Your name').fill('Papa')
    await inspectPage(t, stranger, 'ask')
    await stranger.getByRole('button', { name: 'Ask the owner' }).click()
    await stranger.getByRole('button', { name: 'Copy the address' }).waitFor()
    await inspectPage(t, stranger, 'asked')
    await stranger.context().close()
    for (const [path, text] of Object.entries(shownFiles)) await store(page, path, text)
    for (const [name, color] of Object.entries(shownPictures))
      await storePicture(page, `/Garden/${name}`, color)
    await store(page, '/To do.txt', '- renew the passport\n- water the plants\n- buy plums\n')
    await store(page, '/Recipes/Plum cake, first try.txt', '2 plums.\n')
    await remove(page, '/Recipes/Plum cake, first try.txt')
    for (const path of ['/Recipes', '/Budget 2026.csv']) await publish(page, path)
    await store(page, '/Budget 2026.csv', 'month,rent,food\nJanuary,860,310\n')
    await share(page, { path: '/Recipes', kind: 'read', password: 'plum cake' })
    await share(page, { path: '/Garden', kind: 'both', keepMetadata: true })
    const names = (await page.evaluate(
      "fetch('/api/web/pages').then((answer) => answer.json()).then(({ pages }) => pages.map(({ name }) => name))",
    )) as string[]
    t.ok(names.length > 0)
    const open = (place: string) => openPlace(page, node.url, place)
    for (const name of names) {
      await open(name === 'chat' ? 'chat/2026-11-20 Apple cake.json' : name)
      await inspect(name)
    }
    await open('trash')
    await page.getByRole('row').filter({ hasText: 'Plum cake' }).click()
    await page.getByRole('group', { name: 'Selected entries' }).waitFor()
    await inspect('trash-selected')
    await page.getByRole('grid').press('Enter')
    await page.getByRole('dialog').waitFor()
    await inspect('trash-details')
    await page.keyboard.press('Escape')
    for (const plugin of ['previews', 'search']) {
      const isRead = `fetch('/api/${plugin}/status').then((answer) => answer.json()).then(({ isComplete }) => isComplete)`
      await untilTrue(page, isRead)
    }
    const arePicturesThere = (where: string) =>
      untilTrue(
        page,
        `[...document.querySelectorAll('${where} img')].every(({ naturalWidth }) => naturalWidth > 0)`,
      )
    await open('photos')
    await page.getByRole('img', { name: 'Fern.jpg' }).waitFor()
    await arePicturesThere('.photos')
    await inspect('photos')
    await page.getByRole('img', { name: 'Fern.jpg' }).click()
    await page.getByRole('dialog').getByRole('img').waitFor()
    await arePicturesThere('.viewer')
    await inspect('photos-viewer')
    await open('files/Garden')
    await page.getByRole('img', { name: 'Preview of Fern.jpg' }).waitFor()
    await arePicturesThere('.picture')
    await inspect('files-previews')
    await page.getByRole('button', { name: 'Show as a grid' }).click()
    await page.locator('.tile img').nth(4).waitFor()
    await arePicturesThere('.picture')
    await inspect('files-grid')
    await page.locator('.tile').filter({ hasText: 'Fern.jpg' }).click({ button: 'right' })
    await page.getByRole('menu').waitFor()
    await inspect('files-menu', onDesktop)
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await page.locator('.details').getByText('/Garden/Fern.jpg').waitFor()
    await arePicturesThere('.details')
    await inspect('files-details')
    await page.getByRole('button', { name: /^Close/ }).click()
    await page.keyboard.press('?')
    await inspect('files-keys')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Show as a list' }).click()
    await page.getByRole('searchbox').fill('cake')
    await page.getByRole('link', { name: 'Apple cake.txt' }).waitFor()
    await inspect('search')
    await open('files')
    await chooseNew(page, 'Is it all here?')
    await inspect('check')
    const card = { 'IMG_0001.jpg': 'a photo', 'To do.txt': 'a longer list than that of the node'.repeat(2) }
    const chosen = Object.entries(card).map(([name, text]) => {
      return { name, mimeType: 'text/plain', buffer: Buffer.from(text) }
    })
    await page.getByRole('dialog').getByLabel('Choose files').last().setInputFiles(chosen)
    await page.getByText('It is not on the node.').waitFor()
    await inspect('check-done')
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Details', exact: true }).click()
    await page.getByRole('list', { name: 'Largest folders first' }).waitFor()
    await inspect('files-usage')
    await page.getByRole('button', { name: /^Close/ }).click()
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await page.getByRole('row').filter({ hasText: 'Letters' }).getByRole('checkbox').click()
    await button('Delete').click()
    await page.getByText('Moved "Letters" to the trash.').waitFor()
    // The list follows the notice.
    await page.getByRole('row').filter({ hasText: 'Letters' }).waitFor({ state: 'detached' })
    await inspect('files-undo')
    await button('Undo').click()
    await page.getByText('Undone:').waitFor()
    await page.getByRole('row').filter({ hasText: 'To do.txt' }).getByRole('checkbox').click()
    const tops = await page
      .locator('.bottom-bar button')
      .evaluateAll((buttons) => buttons.map((one) => one.getBoundingClientRect().top))
    t.equal(new Set(tops).size, 1, 'all actions stand on one line')
    await inspect('files-selected', onPhone)
    await button('Versions').click()
    await page.getByRole('list', { name: 'Former contents' }).getByRole('listitem').first().waitFor()
    await inspect('versions')
    await page.getByRole('button', { name: /^Compare: / }).click()
    await page.locator('.difference ins').waitFor()
    await inspect('versions-compared')
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('row').filter({ hasText: 'To do.txt' }).getByRole('checkbox').click()
    await page.getByRole('row').filter({ hasText: 'Garden' }).getByRole('checkbox').click()
    await button('Share').click()
    await page.getByRole('dialog').getByLabel('The link ends').waitFor()
    await inspect('share')
    await page.getByRole('button', { name: 'Make the link' }).click()
    await page.getByText('Copy the link now.').waitFor()
    await inspect('share-done', onPhone)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.locator('.bottom-bar').getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Publish a copy' }).click()
    await inspect('publish', onPhone)
    await page.getByRole('dialog').getByRole('button', { name: 'Publish a copy' }).click()
    await page.getByText('It is published at this address:').waitFor()
    await inspect('publish-done', onPhone)
    await open('connect-app')
    await page.getByLabel('Name of the app').fill('Files on my laptop')
    await button('Make a password').click()
    await page.getByLabel('The password of the app').waitFor()
    await page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    await inspect('connect-app-made')
    const nodeParts = 'users backups storage update overlay devices contents models messages plugins'.split(
      ' ',
    )
    for (const part of nodeParts) {
      await open(`node/${part}`)
      await page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
      await inspect(`node-${part}`)
    }
    await open('node/messages')
    await page.getByText('npm start -- attention-webhook secret').waitFor()

    await page.getByRole('button', { name: /^Menu of / }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    await inspect('menu')
    const design = await serveDesign(0)
    t.teardown(design.close)
    await page.goto(design.url.href)
    await page.getByRole('heading', { name: 'Design' }).waitFor()
    await inspect('design')
    t.strictSame(faults, [])
  },
)

/** Lets the node seem older by some milliseconds. Pictures of a node that has just begun would show one that nobody has. */
function olderBy(ms: number): (route: Route) => Promise<void> {
  return async (route) => {
    const response = await route.fetch()
    const report = (await response.json()) as { uptime: number }
    await route.fulfill({ response, json: { ...report, uptime: report.uptime + ms / 1000 } })
  }
}

/** Shows a folder of backups as a person has it. */
function inFolder(folder: string): (route: Route) => Promise<void> {
  return async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), folder } })
  }
}

/** Shows the folder of the sources as a person has it. It ends with a slash. */
function withSourcesIn(folder: string): (route: Route) => Promise<void> {
  return async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replaceAll(root, folder) })
  }
}

async function store(page: Page, path: string, text: string): Promise<void> {
  const write = `fetch('/write?path=' + encodeURIComponent(${JSON.stringify(path)}), { method: 'PUT', body: ${JSON.stringify(text)} }).then(({ ok }) => ok)`
  if (!(await page.evaluate(write))) throw new Error(`${path} was not stored.`)
}

/** @param color of CSS */
async function storePicture(page: Page, path: string, color: string): Promise<void> {
  const draw = `new Promise((resolve) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 480 })
    const context = canvas.getContext('2d')
    context.fillStyle = '${color}'
    context.fillRect(0, 0, 640, 480)
    context.fillStyle = 'white'
    context.fillRect(240, 160, 160, 160)
    canvas.toBlob(resolve, 'image/jpeg')
  })`
  const write = `${draw}.then((body) => fetch('/write?path=' + encodeURIComponent(${JSON.stringify(path)}), { method: 'PUT', body })).then(({ ok }) => ok)`
  if (!(await page.evaluate(write))) throw new Error(`${path} was not stored.`)
}

async function remove(page: Page, path: string): Promise<void> {
  const body = JSON.stringify(JSON.stringify({ path }))
  const headers = "{ 'content-type': 'application/json' }"
  const remove = `fetch('/delete', { method: 'POST', headers: ${headers}, body: ${body} }).then(({ ok }) => ok)`
  if (!(await page.evaluate(remove))) throw new Error(`${path} was not deleted.`)
}

async function share(
  page: Page,
  terms: { readonly path: string; readonly [term: string]: unknown },
): Promise<void> {
  const body = JSON.stringify(JSON.stringify(terms))
  const headers = "{ 'content-type': 'application/json' }"
  const share = `fetch('/api/shares', { method: 'POST', headers: ${headers}, body: ${body} }).then(({ ok }) => ok)`
  if (!(await page.evaluate(share))) throw new Error(`${terms.path} was not shared.`)
}

async function publish(page: Page, path: string): Promise<void> {
  const body = JSON.stringify(JSON.stringify({ path }))
  const headers = "{ 'content-type': 'application/json' }"
  const publish = `fetch('/api/ipfs/publish', { method: 'POST', headers: ${headers}, body: ${body} }).then(({ ok }) => ok)`
  if (!(await page.evaluate(publish))) throw new Error(`${path} was not published.`)
}
