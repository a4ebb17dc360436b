// In a process of its own: the library that makes the pictures keeps threads.
import { join } from 'node:path'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'

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

/** With `SCREENSHOTS=folder`, pictures of all pages are made there. */
const { SCREENSHOTS: pictures } = process.env

const windows = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }
const narrowest = { width: 360, height: 740 }

interface Scene {
  readonly ada: TestUser
  /** Makes a link, and returns its address. */
  readonly link: (path: string, wishes?: object) => Promise<string>
  /** Opens a page as a guest. */
  readonly open: (address: string, options?: BrowserContextOptions) => Promise<Page>
  /** Problems that the pages reported. */
  readonly faults: string[]
}

function test(name: string, run: (t: Test, scene: Scene) => Promise<void>): void {
  t.test(name, { skip: needsChromium }, async (t) => {
    if (node === null || browser === null) return
    const ada = await node.signIn()
    const faults: string[] = []
    const link = async (path: string, wishes: object = {}) => {
      const made = await post(ada, '/api/shares', { path, kind: 'read', ...wishes })
      return new URL(new URL(made.url as string).pathname, node.url).href
    }
    const open = async (address: string, options: BrowserContextOptions = {}) => {
      const context = await (browser as Browser).newContext({ reducedMotion: 'reduce', ...options })
      t.teardown(() => context.close())
      context.setDefaultTimeout(60_000)
      const page = await context.newPage()
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
      await page.goto(address)
      return page
    }
    await run(t, { ada, link, open, faults })
  })
}

async function put(user: TestUser, path: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const answer = await user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body })
  if (!answer.ok) throw new Error(await answer.text())
}

async function post(user: TestUser, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' }
  const answer = await user.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Record<string, unknown>
}

async function read(user: TestUser, path: string): Promise<string> {
  return (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
}

const file = (name: string, content: string) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(content),
})

test('a guest uploads with the script, also over a connection that breaks off', async (t, scene) => {
  const { ada, link, open, faults } = scene
  await post(ada, '/mkdir', { path: '/in' })
  const page = await open(await link('/in', { kind: 'drop', askSender: true, maxFiles: 12 }))
  await page.getByText('This link takes 12 more files.').waitFor()
  const chooser = await page.getByLabel('Files').boundingBox()
  t.ok(chooser !== null && chooser.height >= 44, 'a finger meets it')
  let broken = 0
  await page.route('**/uploads/*', async (route) => {
    if (route.request().method() !== 'PATCH' || broken > 0) return route.continue()
    broken += 1
    return route.abort('connectionreset')
  })
  await page.getByLabel('Your name').fill('Grace')
  await page.getByLabel('Files').setInputFiles([file('one.txt', 'first'), file('two.txt', 'second')])
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByRole('listitem').filter({ hasText: 'two.txt' }).getByText('Arrived').waitFor()
  await page.getByRole('status').getByText('All done: 2 files have arrived.').waitFor()
  await page.getByText('This link takes 10 more files.').waitFor()
  t.equal(broken, 1)
  t.equal(await read(ada, '/in/one.txt'), 'first')
  t.equal(await read(ada, '/in/two.txt'), 'second')
  t.strictSame(
    faults.filter((fault) => !fault.includes('ERR_CONNECTION_RESET')),
    [],
  )
})

test('a refused upload says why', async (t, { ada, link, open }) => {
  await post(ada, '/mkdir', { path: '/small' })
  const page = await open(await link('/small', { kind: 'drop', maxBytes: 3 }))
  await page.getByLabel('Files').setInputFiles([file('large.txt', 'larger')])
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByText('This link takes at most 3 more bytes.').waitFor()
  t.equal((await ada.fetch('/stat?path=/small/large.txt')).status, 404)
})

test('without a script, a guest reads, downloads and uploads', async (t, { ada, link, open, faults }) => {
  await put(ada, '/trip/day one/a.txt', 'Hello.')
  const page = await open(await link('/trip', { kind: 'both', password: 'open sesame' }), {
    javaScriptEnabled: false,
  })
  faults.length = 0 // The page for the password has the status 401, which the browser reports.
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByText('That is not the password of this link.').waitFor()
  await page.getByLabel('Password').fill('open sesame')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('link', { name: 'day one' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download a.txt' }).click()
  t.equal((await downloading).suggestedFilename(), 'a.txt')
  await page.getByRole('link', { name: 'a.txt', exact: true }).click()
  await page.getByRole('heading', { name: 'a.txt' }).waitFor()
  await page.getByRole('link', { name: 'Back to the folder' }).click()
  await page.getByRole('link', { name: 'trip' }).click()
  await page.getByLabel('Files').setInputFiles([file('mine.txt', 'mine')])
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByRole('heading', { name: 'The file has arrived' }).waitFor()
  t.equal(await read(ada, '/trip/mine.txt'), 'mine')
})

test('the pages for guests are accessible, light and dark, on a desktop and on a phone', async (t, scene) => {
  const { ada, link, open } = scene
  for (const [name, background] of Object.entries({
    Cherry: 'firebrick',
    Fern: 'seagreen',
    Sky: 'skyblue',
  })) {
    const picture = sharp({ create: { width: 600, height: 400, channels: 3, background } })
    await put(ada, `/Holiday/${name}.jpg`, new Uint8Array(await picture.jpeg().toBuffer()))
  }
  await put(ada, '/Holiday/Notes from the mountains/day 1.txt', 'Rain.')
  await put(ada, '/Holiday/A long name of a document that somebody has scanned in 2026.pdf', '%PDF')
  const [shared, drop, secret] = [
    await link('/Holiday', { kind: 'both' }),
    await link('/Holiday', { kind: 'drop', askSender: true }),
    await link('/Holiday', { password: 'x' }),
  ]
  const pages = {
    list: `${shared}?view=list`,
    grid: `${shared}?view=grid`,
    picture: `${shared}/view?path=/Fern.jpg`,
    drop,
    password: secret,
    missing: `${shared}?path=/none`,
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await open(shared, { colorScheme })
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(address)
      for (const [kind, size] of Object.entries(windows)) {
        await page.setViewportSize(size)
        if (pictures !== undefined)
          await page.screenshot({ path: join(pictures, `guest-${name}-${kind}-${colorScheme}.png`) })
        t.strictSame(await findingsOf(page), [], `${name}, ${kind}, ${colorScheme}: axe finds nothing`)
      }
      await page.setViewportSize(narrowest)
      const wider = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
      t.equal(wider, false, `${name}, ${colorScheme}: nothing is wider than a narrow window`)
    }
  }
})

async function findingsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
