import assert from 'node:assert/strict'
import { type WebPage, WebPages } from '../contracts/web-pages.ts'
import type { Remains, TrialReport } from '../protocol/page-trial.ts'
import { moduleBeside, runInThread } from '../threads.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { soon, timeLimit } from './soon.ts'
import { assertFile, assertWithin, refusedIn, textsOf } from './web-page/page-files.ts'
import type { PageModule, ReadModule } from './web-page/read-module-thread.ts'
import { serveTrial } from './web-page/trial-server.ts'

export type { ConformanceTest }

/** A page that is ready for one test. */
export interface WebPageSubject {
  /** The name of the page in `WebPages`. */
  readonly name: string
  readonly page: WebPage
  /**
   * Sends a request of the page, like `fetch` of a test user. Without it, each request gets 503, as if the plugin of the route did
   * not run.
   */
  fetch?(path: string, init?: RequestInit): Promise<Response>
  /** Opens an address in a browser with an empty profile, and returns a function that closes it. Without it, tests are skipped. */
  open?(url: string): Promise<() => Promise<void>>
  close?(): Promise<void>
}

/** The function that the author of a page passes to the suite. */
export interface WebPageHarness {
  /** Prepares the page. Called once for each test. */
  setUp(): Promise<WebPageSubject>
}

const noBrowser = 'The harness has no "open", so no browser shows the page.'

/**
 * Registers the tests that every page must pass. The suite does not depend on a test runner: it uses the given function to register
 * its tests. It depends on no browser either: with `open`, it shows the page in the one of the harness.
 *
 * @example
 * import { test } from 'node:test'
 * webPageConformance(test, { setUp: async () => ({ name: 'notes', page }) })
 */
export function webPageConformance(test: ConformanceTest, harness: WebPageHarness): void {
  const check = checksOf(
    test,
    () => harness.setUp(),
    async (subject) => subject.close?.(),
  )
  // The page is shown once for all tests.
  let trial: Promise<TrialReport | null> | undefined
  const shownOnce = (subject: WebPageSubject) => {
    trial ??= shown(subject)
    return trial
  }
  const checkShown = (name: string, run: (report: TrialReport) => void) =>
    check(name, async (subject, skip) => {
      const report = await shownOnce(subject)
      if (report === null) return skip(noBrowser)
      assert.equal(report.exported, 'function', 'the default export is a function')
      assert.deepEqual(report.errors, [], 'the page leaves no error uncaught')
      run(report)
    })

  check('the name is one of an address, and the registry takes the entry', async ({ name, page }) => {
    assert.match(name, /^(?!\.)[^/]{1,256}$/, 'a name has 1 to 256 characters without "/"')
    const problem = WebPages.check?.(page) ?? null
    assert.equal(problem, null, `the entry ${problem}`)
  })

  check('the files that the page names are in its folder', async ({ page }) => {
    const { folder, module, stylesheet } = page
    await assertFile(folder, module)
    assert.match(module, /\.m?js$/, 'a browser takes a module by its ending')
    if (stylesheet === undefined) return
    await assertFile(folder, stylesheet)
    assert.match(stylesheet, /\.css$/, 'a browser takes a stylesheet by its ending')
  })

  check('nothing in the folder leads out of it', async ({ page }) => {
    await assertWithin(page.folder)
  })

  check('the module imports files of the page only', async (subject) => {
    const { problem } = await readModule(subject)
    assert.equal(problem, null)
  })

  check('the default export of the module is a function', async (subject, skip) => {
    const { hasDefault, defaultType } = await readModule(subject)
    assert.ok(hasDefault, 'the module has a default export')
    if (defaultType !== null) return assert.equal(defaultType, 'function')
    const report = await shownOnce(subject)
    if (report === null) return skip(`The module runs in a browser only. ${noBrowser}`)
    assert.equal(report.exported, 'function')
  })

  check('documents and stylesheets have no scripts, and load nothing from other hosts', async ({ page }) => {
    const texts = await textsOf(page.folder)
    assert.deepEqual(texts.flatMap(refusedIn), [])
  })

  checkShown('the page shows something each time', ({ hadContent }) => {
    assert.deepEqual(hadContent, [true, true, true])
  })

  checkShown('the function returns nothing, or a function that ends the page', ({ returned }) => {
    assert.ok(
      returned.every((type) => type === 'undefined' || type === 'function'),
      `it returned ${returned.join(', ')}`,
    )
  })

  checkShown('the page keeps to the Content-Security-Policy', ({ refused }) => {
    assert.deepEqual(refused, [])
  })

  checkShown('the end of the page leaves nothing behind', ({ remains }) => {
    // A library may set up something once. Another time must not add to it.
    const [first, ...others] = remains as [Remains, ...Remains[]]
    for (const kind of ['elements', 'listeners', 'intervals'] as const) {
      for (const each of others) {
        assert.ok(each[kind] <= first[kind], `each time leaves ${kind}: ${first[kind]}, then ${each[kind]}`)
      }
    }
  })
}

function readModule({ name, page }: WebPageSubject): Promise<ReadModule> {
  const { folder, module } = page
  const order: PageModule = { name, folder, module }
  // The page may not know the package, so the thread needs none of the options of the process.
  const execArgv = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const thread = moduleBeside(import.meta.url, 'web-page/read-module-thread')
  return soon(
    runInThread<PageModule, never, ReadModule>(thread, { name: 'page-module', order, execArgv }),
    'The module of the page did not end.',
  )
}

/** Shows the page in the browser of the harness; `null` without one. */
async function shown(subject: WebPageSubject): Promise<TrialReport | null> {
  if (subject.open === undefined) return null
  const fetch = subject.fetch?.bind(subject) ?? notRunning
  await using server = await serveTrial(subject.name, subject.page, fetch, timeLimit.ms / 4)
  const close = await subject.open(server.url)
  try {
    return await soon(server.report, 'The page did not end in the browser.')
  } finally {
    await close()
  }
}

/** The answer to a request for a plugin that does not run. */
async function notRunning(): Promise<Response> {
  return Response.json(
    { error: true, message: 'The plugin of this page is not running.', code: 'SERVICE_UNAVAILABLE' },
    { status: 503 },
  )
}
