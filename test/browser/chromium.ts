import { findProgram } from '@nodekeep/kernel/testing'

/** The names that Debian, other distributions and Google use. */
const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of Chromium, or null when it is not installed. */
export function findChromium(): string | null {
  return names.map(findProgram).find((path) => path !== null) ?? null
}
