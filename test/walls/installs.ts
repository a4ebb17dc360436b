import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface LockFile {
  readonly packages: Readonly<
    Record<string, { readonly hasInstallScript?: boolean; readonly resolved?: string }>
  >
}

/**
 * Checks that no package that `npm ci` installs runs a script, since such scripts compile or download. npm also compiles a
 * package with a `binding.gyp`; npm 10 does so even if the package says `"gypfile": false`.
 *
 * @param root a folder with a package-lock.json and the packages that it names
 * @returns one line for each package that breaks the rule
 */
export function checkInstalls(root: string): string[] {
  return installed(root).flatMap(([path, { hasInstallScript }]) => [
    ...(hasInstallScript ? [`${path} runs a script when it is installed`] : []),
    ...(existsSync(join(root, path, 'binding.gyp'))
      ? [`${path} is compiled when it is installed (binding.gyp)`]
      : []),
  ])
}

/** One line for each package whose address in package-lock.json names a registry. */
export function checkAddresses(root: string): string[] {
  return installed(root)
    .filter(([, { resolved }]) => resolved?.includes('://'))
    .map(([path]) => `${path} names a registry in package-lock.json`)
}

function installed(root: string): [path: string, entry: LockFile['packages'][string]][] {
  const lock: LockFile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(lock.packages).filter(([path]) => path !== '')
}
