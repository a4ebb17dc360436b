import { findProgram } from '../run/command.ts'

/** The names that Debian, other distributions and Google use. */
const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of Chromium, or null when it is not installed. */
export async function findChromium(): Promise<string | null> {
  const found = await Promise.all(names.map(findProgram))
  return found.find((path) => path !== null) ?? null
}
