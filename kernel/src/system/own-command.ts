import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds `node_modules/@nodekeep/kernel`: of a release or of an installation. Elsewhere nothing is found in it. */
const above = fileURLToPath(new URL('../../../../..', import.meta.url))

/** Returns the words that run this command line in a shell, wherever its program is installed. */
export function ownCommand(): string {
  if (process.env.npm_lifecycle_event === 'start') return 'npm start --'
  const folders = (process.env.PATH ?? '').split(delimiter)
  if (folders.some((folder) => existsSync(join(folder, 'nodekeep')))) return 'nodekeep'
  const isInstalled = existsSync(join(above, 'node_modules/@nodekeep/kernel'))
  // Of a release, or of packages that npm installed.
  const commands = ['bin/nodekeep', 'node_modules/.bin/nodekeep'].map((path) => join(above, path))
  const command = isInstalled && commands.find((path) => existsSync(path))
  if (!command) return 'nodekeep'
  return /^[\w./-]+$/.test(command) ? command : `'${command.replaceAll("'", `'\\''`)}'`
}
