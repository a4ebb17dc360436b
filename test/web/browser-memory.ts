import { readFile } from 'node:fs/promises'
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

/** Returns the largest memory that a tab of a browser ever had, in bytes. */
export async function largestTab(browser: Browser): Promise<number> {
  return Math.max(...(await peaks(browser, 'renderer')).values())
}

/** The largest memory that each process had, in bytes, by the id of the process. @param kind as Chromium names it; default: all */
async function peaks(browser: Browser, kind?: string): Promise<ReadonlyMap<number, number>> {
  const cdp = await browser.newBrowserCDPSession()
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo')
  await cdp.detach()
  const asked = processInfo.filter(({ type }) => kind === undefined || type === kind)
  const found = asked.map(async ({ id }) => {
    const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '')
    return [id, 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0)] as const
  })
  return new Map(await Promise.all(found))
}
