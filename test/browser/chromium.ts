import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** The names that Debian, other distributions and Google use. */
const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of Chromium, or null when it is not installed. */
export async function findChromium(): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      const program = join(folder, name)
      const isThere = await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (isThere) return program
    }
  }
  return null
}
