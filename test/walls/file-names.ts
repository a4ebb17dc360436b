import { basename } from 'node:path'

const vague = /^(utils?|helpers?|misc|common|manager|.*-(utils?|helpers?|manager))$/

/**
 * Checks that file names are lower-case words joined by dashes, and none of the names that say nothing.
 *
 * @returns one line for each file that breaks this
 */
export function checkFileNames(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const name = basename(file).replace(/(\.(test|bench|faults|types|d))?\.[jt]s$/, '')
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
      return [`${file}: name it in lower-case words joined by dashes`]
    return vague.test(name) ? [`${file}: name it after what is in it`] : []
  })
}
