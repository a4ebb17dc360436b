import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser } from 'playwright-core'

/**
 * Runs something, and returns by how much it raised the largest memory that the processes of a browser ever had, in bytes. A process
 * that begins or ends meanwhile does not count.
 */
export async function memoryGrowth(browser: Browser, run: () => Promise<void>): Promise<number> {
  const before = await peaks(browser)
  await run()
  let grown = 0
  for (const [id, peak] of await peaks(browser)) grown += Math.max(0, peak - (before.get(id) ?? peak))
  return grown
}

/**
 * Runs something, and returns the largest memory of its own that a tab had meanwhile, in bytes. The code of the browser, which all tabs
 * share, does not count.
 */
export async function largestTab(browser: Browser, run: () => Promise<void>): Promise<number> {
  const tabs = (await processes(browser)).filter(({ type }) => type === 'renderer')
  let isRunning = true
  const running = run().finally(() => {
    isRunning = false
  })
  let largest = 0
  do {
    await delay(50)
    for (const { id } of tabs) largest = Math.max(largest, (await kilobytesOf(id, 'RssAnon')) * 1024)
  } while (isRunning)
  await running
  return largest
}

/** The largest memory that each process had, in bytes, by the id of the process. */
async function peaks(browser: Browser): Promise<ReadonlyMap<number, number>> {
  const found = (await processes(browser)).map(
    async ({ id }) => [id, 1024 * (await kilobytesOf(id, 'VmHWM'))] as const,
  )
  return new Map(await Promise.all(found))
}

async function processes(
  browser: Browser,
): Promise<readonly { readonly id: number; readonly type: string }[]> {
  const cdp = await browser.newBrowserCDPSession()
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo')
  await cdp.detach()
  return processInfo
}

/** @param name a field of `/proc/<id>/status` */
async function kilobytesOf(id: number, name: string): Promise<number> {
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
}
