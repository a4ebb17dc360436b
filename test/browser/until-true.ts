import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'

/**
 * Waits until an expression is true in a page. `waitForFunction` of Playwright evaluates it with `eval` in the page when it looks
 * again, which the Content-Security-Policy of the pages refuses.
 */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  while (!(await page.evaluate(expression))) await delay(20)
}

/** Waits until an element with a text has the focus. Pages move the focus after they have shown what has changed. */
export function hasFocus(page: Page, text: string): Promise<void> {
  return untilTrue(page, `document.activeElement.textContent === ${JSON.stringify(text)}`)
}
