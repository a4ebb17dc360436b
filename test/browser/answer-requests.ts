import type { BrowserContext, Page, Route } from 'playwright-core'

type Answer = (route: Route) => Promise<void>

/**
 * Gives requests to an address to `answer`, until the returned function is called; all others pass. Playwright's `unroute` and
 * `times` end the interception of requests, and Chromium never sends one that begins at that moment.
 */
export async function answerRequests(
  page: Page | BrowserContext,
  address: Parameters<Page['route']>[0],
  answer: Answer,
): Promise<() => void> {
  let isOver = false
  await page.route(address, (route) => (isOver ? route.fallback() : answer(route)))
  return () => {
    isOver = true
  }
}

/** Gives the next request to an address to `answer`. */
export async function answerOnce(
  page: Page,
  address: Parameters<Page['route']>[0],
  answer: Answer,
): Promise<void> {
  const stop = await answerRequests(page, address, (route) => {
    stop()
    return answer(route)
  })
}
