import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'

/**
 * Waits until an expression is true in a page. `waitForFunction` of Playwright evaluates it with `eval` in the page when it looks
 * again, which the Content-Security-Policy of the pages refuses.
 */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  while (!(await page.evaluate(expression))) await delay(20)
}
