import { findProgram, needsPrograms } from '@nodekeep/kernel/testing'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'

/**
 * Chromium under the names that Debian, other distributions and Google use. `chromium-headless-shell` is first: it has the same engine
 * without the windows of a browser, and takes a quarter of the CPU time.
 */
const program = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  .map(findProgram)
  .find((path) => path !== null)

/** The reason to skip a test that runs Chromium; `false` if it is installed. */
export const needsChromium = program === undefined && needsPrograms('chromium-headless-shell')

/** Starts Chromium without a window, with further arguments. */
export function launchChromium(...further: readonly string[]): Promise<Browser> {
  // Chromium's own sandbox does not work for root. Tests open only pages of their own nodes.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({
    executablePath: program ?? 'chromium-headless-shell',
    args: [...args, ...further],
  })
}

/** Starts Chromium without a window, with further arguments. It ends with the test. */
export async function startChromium(
  t: Pick<Test, 'teardown'>,
  ...further: readonly string[]
): Promise<Browser> {
  const browser = await launchChromium(...further)
  t.teardown(() => browser.close())
  return browser
}
