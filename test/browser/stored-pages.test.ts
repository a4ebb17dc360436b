import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { BrowserContext, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { needsChromium, startChromium } from './chromium.ts'

/** A script that acts as the user who opens a stored page. */
const script = `document.title = 'ran'; fetch('/whoami').then((answer) => answer.json()).then((who) => { document.title = 'ran as ' + who.user.username })`
const pages: Record<string, string> = {
  'page.html': `<!doctype html><title>stored</title><script>${script}</script><img src="x" onerror="${script}">`,
  'picture.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload="${script}"><title>stored</title><script>${script}</script></svg>`,
  'page.xhtml': `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>stored</title></head><body><script>${script}</script></body></html>`,
}

/** A picture of one pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** A node with stored pages, and a browser with the session of their user. */
interface Scene {
  readonly node: TestNode
  readonly ada: TestUser
  readonly context: BrowserContext
}

async function setUp(t: Test): Promise<Scene> {
  const node = await createTestNode({
    folder: import.meta.dirname,
    config: { plugins: { files: true, 'storage-local': true } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const [name, body] of [...Object.entries(pages), ['pixel.gif', pixel] as const])
    await ada.fetch(`/write?path=/${name}`, { method: 'PUT', body })
  const context = await (await startChromium(t)).newContext()
  // Long, since other tests may use both processors.
  context.setDefaultTimeout(60_000)
  await context.addCookies([{ name: 'session', value: ada.token, url: node.url.href, sameSite: 'Lax' }])
  return { node, ada, context }
}

/**
 * Opens a page without some of its headers, and returns the effects. Scripts run while the page loads, so a script that
 * has not run after the load never runs.
 */
async function open({ node, context }: Scene, name: string, without: readonly string[]) {
  const page = await context.newPage()
  const answered: string[] = []
  page.on('response', (response) => answered.push(new URL(response.url()).pathname))
  const download = page.waitForEvent('download').catch(() => null)
  await page.route(
    (url) => url.pathname === '/read',
    (route) => answerWithout(route, without),
  )
  // `goto` rejects if the browser saves the page.
  const shown = await page.goto(new URL(`/read?path=/${name}`, node.url).href).catch(() => null)
  const saved = shown === null ? ((await download)?.suggestedFilename() ?? null) : null
  if (shown !== null && (await page.title()) === 'ran') await page.waitForFunction("document.title !== 'ran'")
  const title = await page.title()
  await page.close()
  return { title, saved, answered: answered.filter((path) => path !== '/read') }
}

async function answerWithout(route: Route, names: readonly string[]): Promise<void> {
  if (names.length === 0) return route.continue()
  const response = await route.fetch()
  const headers = Object.entries(response.headers()).filter(([name]) => !names.includes(name))
  await route.fulfill({ response, headers: Object.fromEntries(headers) })
}

t.test('Chromium opens stored pages', { skip: needsChromium }, async (t) => {
  const scene = await setUp(t)
  const { node, ada, context } = scene

  for (const name of Object.keys(pages)) {
    t.test(`${name} is saved and does nothing`, async (t) => {
      t.strictSame(await open(scene, name, []), { title: '', saved: name, answered: [] })
    })

    t.test(`${name} does nothing in a browser that shows it`, async (t) => {
      const { title, saved, answered } = await open(scene, name, ['content-disposition'])
      t.notMatch(title, /ran/)
      t.strictSame(
        { saved, answered },
        { saved: null, answered: [] },
        'the browser shows the page without its resources',
      )
    })

    t.test(`${name} acts as the user without the headers of the node`, async (t) => {
      const { title } = await open(scene, name, ['content-disposition', 'content-security-policy'])
      t.equal(title, `ran as ${ada.user.username}`)
    })
  }

  t.test('a page of the node cannot run a stored script', async (t) => {
    await ada.fetch('/write?path=/code.js', { method: 'PUT', body: "document.title = 'ran'" })
    const page = await context.newPage()
    await page.goto(new URL('/health', node.url).href)
    const source = '/read?path=/code.js'
    t.equal(await page.evaluate(`fetch('${source}').then(({ status }) => status)`), 200)
    await t.rejects(page.addScriptTag({ url: source }))
    await t.rejects(page.evaluate(`import('${source}')`))
    t.equal(await page.title(), '')
    await page.close()
  })

  t.test('a page of another origin cannot load a picture of the user', async (t) => {
    const other: Server = createServer((_request, response) => {
      const source = new URL('/read?path=/pixel.gif', node.url)
      response.setHeader('content-type', 'text/html')
      response.end(
        `<img src="${source}" onload="document.title = 'got it'" onerror="document.title = 'refused'">`,
      )
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    t.teardown(() => other.close())
    const page = await context.newPage()
    const { port } = other.address() as AddressInfo
    await page.goto(`http://127.0.0.1:${port}/`, { waitUntil: 'load' })
    t.equal(await page.title(), 'refused')
    await page.goto(new URL('/read?path=/pixel.gif', node.url).href)
    t.match(await page.title(), /pixel|gif|1.1/, 'the user sees the picture')
    await page.close()
  })
})
