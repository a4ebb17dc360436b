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

/** The largest memory that each process had, in bytes, by the id of the process. */
async function peaks(browser: Browser): Promise<ReadonlyMap<number, number>> {
  const cdp = await browser.newBrowserCDPSession()
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo')
  await cdp.detach()
  const found = processInfo.map(async ({ id }) => {
    const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '')
    return [id, 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0)] as const
  })
  return new Map(await Promise.all(found))
}
