import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import type { InstalledNode } from './installed-node.ts'

/** The page "Update" of a node, in a browser in which its owner is signed in. */
export class UpdatePage {
  readonly #page: Page
  readonly #faults: string[] = []

  private constructor(page: Page) {
    this.#page = page
    page.on('pageerror', ({ message }) => this.#faults.push(message))
    page.on('console', (line) => {
      if (/Content.Security.Policy|Trusted/i.test(line.text())) this.#faults.push(line.text())
    })
  }

  static async open(browser: Browser, { url, token }: InstalledNode): Promise<UpdatePage> {
    const context = await browser.newContext()
    // Long, since the node builds a new version meanwhile, and other tests may use both processors.
    context.setDefaultTimeout(120_000)
    await context.addCookies([{ name: 'session', value: token, url: url.href, sameSite: 'Lax' }])
    const opened = new UpdatePage(await context.newPage())
    await opened.#page.goto(new URL('/#/node/update', url).href)
    return opened
  }

  /** Looks for a new version, and reads its notes. */
  async check(t: Test, version: string): Promise<void> {
    await this.#page
      .getByText(/No newer version is known\.|Nobody has looked for a newer version yet\./)
      .waitFor()
    await this.#click('Check for updates')
    await this.#page.getByText(`Version ${version} is available.`).first().waitFor()
    t.equal(await this.#page.locator('pre').textContent(), `Notes of ${version}`)
  }

  /** Installs a new version, and sees the progress. Returns the answer of the node. */
  async install(version: string): Promise<{ status: number; body: unknown }> {
    const page = this.#page
    await page.evaluate('window.isSamePage = true')
    await this.#click(`Install ${version}`)
    const answering = page.waitForResponse((response) => response.url().endsWith('/api/update/install'))
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Install ${version}` })
      .click()
    await page.getByRole('progressbar', { name: 'Progress of the update' }).waitFor()
    await page
      .getByRole('status')
      .getByText(/: \d+ %$/)
      .waitFor()
    const answer = await answering
    return { status: answer.status(), body: await answer.json() }
  }

  /** Sees on the same page that the new version runs, loads the pages of this version, and finds the update in the history. */
  async follow(t: Test, from: string, version: string): Promise<void> {
    const page = this.#page
    await page.getByText(`Version ${version} runs now.`).waitFor()
    t.equal(await page.evaluate('window.isSamePage'), true, 'the page has survived the restart of the node')
    await this.#click('Reload the pages')
    await page.getByText(`This node runs version ${version}.`).waitFor()
    t.equal(await page.evaluate('window.isSamePage'), undefined)
    await page.getByText('The node watches the new version until').waitFor()
    await page.getByRole('button', { name: `Go back to ${from}`, exact: true }).waitFor()
    const rows = page.getByRole('list', { name: 'History' }).getByRole('listitem')
    t.match(await rows.first().textContent(), `${from} → ${version} Installed`)
    t.strictSame(this.#faults, [])
    await page.context().close()
  }

  #click(name: string): Promise<void> {
    return this.#page.getByRole('button', { name, exact: true }).click()
  }
}
