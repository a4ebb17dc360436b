import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import type { Page } from 'playwright-core'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { largestTab } from './browser-memory.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

/** The limits for a person who scrolls through a folder of pictures. */
const most = { taskMs: 50, tiles: 200, tabBytes: 300e6 }

const pictures = 10_000

t.test(
  'a folder of 10,000 pictures stays smooth and small in the grid',
  { skip: needsChromium },
  async (t) => {
    const plugins = { files: true, 'storage-local': true, web: true }
    const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    const folder = join(node.dataFolder, 'files', ada.user.uuid, 'many')
    await mkdir(folder, { recursive: true })
    for (let i = 0; i < pictures; i += 1) writeFileSync(join(folder, `picture ${i}.jpg`), '')
    const browser = await startChromium(t)
    const { page, faults } = await openSignedInTab(browser, node, ada)
    await page.setViewportSize({ width: 1280, height: 800 })
    // The node would need minutes for so many previews. The page gets pictures of their size.
    const body = await picture(page)
    await page.route('**/api/previews/formats', (route) =>
      route.fulfill({ json: { pictures: ['jpg'], sounds: [] } }),
    )
    await page.route('**/api/previews?*', (route) => route.fulfill({ contentType: 'image/webp', body }))
    await page.goto(new URL('/#/files/many', node.url).href)
    await page.reload()
    await page.getByRole('button', { name: 'Show as a grid' }).click()
    await page.getByRole('img', { name: 'Preview of picture 0.jpg' }).waitFor()

    let frames = 0
    let tiles = 0
    const scroll = async () => {
      const shown = await page.evaluate<{ frames: number; tiles: number }>(scrolling)
      frames += shown.frames
      tiles = Math.max(tiles, shown.tiles)
      await page.getByRole('img', { name: `Preview of picture ${pictures - 1}.jpg` }).waitFor()
    }
    const tab = await largestTab(browser, scroll)
    // Alone, since a trace takes memory of the tab.
    await browser.startTracing(page, { categories: ['toplevel'] })
    await scroll()
    const longestMs = longestTask(await browser.stopTracing())
    t.comment(
      `${frames} frames, at most ${tiles} tiles, the longest task took ${longestMs.toFixed(1)} ms of CPU time, the tab at most ${Math.round(tab / 1e6)} MB.`,
    )
    t.ok(longestMs > 0 && longestMs <= most.taskMs)
    t.ok(tiles > 0 && tiles <= most.tiles)
    t.ok(tab > 0 && tab <= most.tabBytes)
    t.strictSame(faults, [])
  },
)

/** Scrolls from the top to the end: first so that all pictures are seen, and then as fast as the browser draws. Tells what was shown. */
const scrolling = `new Promise((resolve) => {
  const rows = document.querySelector('.rows')
  const shown = { frames: 0, tiles: 0 }
  rows.scrollTop = 0
  const isLoading = () => [...document.querySelectorAll('.tile img')].some(({ complete }) => !complete)
  const step = () => {
    shown.frames += 1
    shown.tiles = Math.max(shown.tiles, document.querySelectorAll('.tile').length)
    if (rows.scrollTop + rows.clientHeight >= rows.scrollHeight - 1) return resolve(shown)
    const isSlow = rows.scrollTop < 10000
    if (!isSlow || !isLoading()) rows.scrollTop += isSlow ? 300 : 3000
    requestAnimationFrame(step)
  }
  step()
})`

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

/** A picture as large as a small preview, with many colors. */
async function picture(page: Page): Promise<Buffer> {
  const bytes = await page.evaluate<number[]>(`new Promise((resolve) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 256, height: 192 })
    const context = canvas.getContext('2d')
    for (let x = 0; x < 256; x += 4)
      for (let y = 0; y < 192; y += 4) {
        context.fillStyle = 'rgb(' + x + ' ' + y + ' ' + ((x * y) % 256) + ')'
        context.fillRect(x, y, 4, 4)
      }
    canvas.toBlob(async (blob) => resolve([...new Uint8Array(await blob.arrayBuffer())]), 'image/webp')
  })`)
  return Buffer.from(bytes)
}
