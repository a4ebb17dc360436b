import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { startChromium } from '../browser/chromium.ts'
import { teardowns } from '../overlay/fixtures/teardowns.ts'
import { proofOf, wallet } from '../sign-in/fixtures/trusting-login.ts'
import { scrollGrid, showGrid, writePictures } from '../web/fixtures/picture-grid.ts'
import type { Bench } from './bench.ts'
import { startServer } from './process.ts'

const gigabyte = 2 ** 30
const entries = 10_000

/** A node with a folder `many` of 10,000 files, and a browser. */
interface Stand {
  readonly browser: Browser
  readonly url: URL
  readonly folder: string
  /** The files of the user. */
  readonly files: string
  readonly token: string
  /** Opens a browser profile with an empty cache that is signed in. */
  profile(): Promise<BrowserContext>
  tearDown(): Promise<void>
}

async function startStand(): Promise<Stand> {
  const { t, tearDown } = teardowns()
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-web-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const data = join(folder, 'data')
  const { url, stop } = await startServer(join(import.meta.dirname, 'fixtures/web-node.ts'), [data])
  t.teardown(stop)
  const answer = await fetch(new URL('/auth/test', url), proofOf(wallet(0)))
  const { sessionToken: token, user } = (await answer.json()) as {
    sessionToken: string
    user: { uuid: string }
  }
  const files = join(data, 'files', user.uuid)
  const many = join(files, 'many')
  await mkdir(many, { recursive: true })
  for (let n = 0; n < entries; n += 1) await writeFile(join(many, `${n}.txt`), '')
  const browser = await startChromium(t)
  const profile = async () => {
    const context = await browser.newContext()
    await context.addCookies([{ name: 'session', value: token, url: url.href, sameSite: 'Lax' }])
    return context
  }
  return { browser, url, folder, files, token, profile, tearDown }
}

/** Milliseconds until a page shows a row, by the clock of the page. */
async function untilRow(page: Page, name: string): Promise<number> {
  return await page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const found = [...document.querySelectorAll('[role=row]')].some((row) => row.textContent.includes(${JSON.stringify(name)}))
      if (found) requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
      else setTimeout(look, 5)
    }
    look()
  })`)
}

const firstView: Bench = {
  name: 'web: first view of the files with an empty cache',
  unit: 'ms',
  better: 'less',
  goal: { ours: 1000 },
  async setUp() {
    const { url, profile, tearDown } = await startStand()
    return {
      async ours() {
        const context = await profile()
        const page = await context.newPage()
        await page.goto(url.href, { waitUntil: 'commit' })
        const ms = await untilRow(page, 'many')
        await context.close()
        return ms
      },
      tearDown,
    }
  },
}

const largeFolder: Bench = {
  name: `web: a folder of ${entries.toLocaleString('en')} entries can be used`,
  unit: 'ms',
  better: 'less',
  goal: { ours: 500 },
  async setUp() {
    const { url, profile, tearDown } = await startStand()
    const page = await (await profile()).newPage()
    await page.goto(url.href)
    return {
      async ours() {
        await page.evaluate("location.hash = '#/files'")
        await untilRow(page, 'many')
        const from = (await page.evaluate("(location.hash = '#/files/many', performance.now())")) as number
        return (await untilRow(page, '0.txt')) - from
      },
      tearDown,
    }
  },
}

const grid: Bench = {
  name: 'web: the longest task of a scroll through 10,000 pictures',
  unit: 'ms',
  better: 'less',
  goal: { ours: 50 },
  async setUp() {
    const { browser, url, files, profile, tearDown } = await startStand()
    await writePictures(join(files, 'pictures'))
    const page = await (await profile()).newPage()
    await page.goto(url.href)
    await showGrid(page, url, '/pictures')
    return {
      async ours() {
        await browser.startTracing(page, { categories: ['toplevel'] })
        await scrollGrid(page)
        return longestTask(await browser.stopTracing())
      },
      tearDown,
    }
  },
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Microseconds of CPU time. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** Returns the longest task of the threads of pages in a trace, in milliseconds of CPU time: other programs do not count. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const place = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const isName = ({ ph, name, args }: TraceEvent) =>
    ph === 'M' && name === 'thread_name' && args?.name === 'CrRendererMain'
  const threads = new Set(traceEvents.filter(isName).map(place))
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && threads.has(place(event)))
  return Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur / 1000))
}

const upload: Bench = {
  name: 'web: memory that a tab takes to upload 1 GiB',
  unit: 'MB',
  better: 'less',
  goal: { ours: 50 },
  rounds: 3,
  async setUp() {
    const { browser, url, folder, token, profile, tearDown } = await startStand()
    const file = join(folder, 'large.bin')
    const handle = await open(file, 'w')
    await handle.truncate(gigabyte)
    await handle.close()
    const authorization = `Bearer ${token}`
    const isThere = async () =>
      (await fetch(new URL('/stat?path=/large.bin', url), { headers: { authorization } })).ok
    return {
      async ours() {
        const context = await profile()
        const page = await context.newPage()
        await page.goto(url.href)
        await untilRow(page, 'many')
        const before = await tabsMB(browser)
        let most = before
        await page.locator('input[type=file]').first().setInputFiles(file)
        while (!(await isThere())) {
          most = Math.max(most, await tabsMB(browser))
          await delay(50)
        }
        await context.close()
        const path = { path: '/large.bin' }
        const headers = { authorization, 'content-type': 'application/json' }
        await fetch(new URL('/delete', url), { method: 'POST', headers, body: JSON.stringify(path) })
        return most - before
      },
      tearDown,
    }
  },
}

/** The memory of all tabs that no other process shares, in MB (10^6 bytes). */
async function tabsMB(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const tabs = processInfo.filter(({ type }) => type === 'renderer')
  const sizes = tabs.map(async ({ id }) => {
    const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '')
    return (Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024) / 1e6
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

export default [firstView, largeFolder, grid, upload] satisfies Bench[]
