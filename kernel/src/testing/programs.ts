import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the path of an installed program, or `null`. Debian installs servers outside the PATH of ordinary users. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  const files = folders.filter((folder) => folder !== '').map((folder) => join(folder, name))
  return files.find(isExecutable) ?? null
}

/**
 * Looks for the programs that a test runs. A test without them must be skipped by name, never passed.
 *
 * @returns the reason to skip the test, which names the missing programs, or `false` if all are installed
 * @example
 * t.test('age opens the archive', { skip: needsPrograms('age', 'tar') }, async (t) => { … })
 */
export function needsPrograms(...names: readonly string[]): string | false {
  const missing = names.filter((name) => findProgram(name) === null)
  if (missing.length === 0) return false
  return `This test needs the program${missing.length > 1 ? 's' : ''} ${missing.join(' and ')}.`
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
