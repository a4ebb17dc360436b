import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface LockFile {
  readonly packages: Readonly<
    Record<string, { readonly hasInstallScript?: boolean; readonly resolved?: string }>
  >
}

/**
 * The wall around `npm ci`: nothing that it installs runs a script, since that is where packages compile or
 * download. npm also compiles what has a `binding.gyp`: npm 10 even when the package says `"gypfile": false`.
 * And no package is tied to one registry's address.
 *
 * @returns one line for each package of package-lock.json that breaks it
 */
export function checkInstalls(root: string): string[] {
  const lock: LockFile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(lock.packages).flatMap(([path, entry]) => {
    const breaches: string[] = []
    if (path === '') return breaches
    if (entry.hasInstallScript) breaches.push(`${path} runs a script when it is installed`)
    if (existsSync(join(root, path, 'binding.gyp')))
      breaches.push(`${path} is compiled when it is installed (binding.gyp)`)
    if (entry.resolved?.includes('://')) breaches.push(`${path} names a registry in package-lock.json`)
    return breaches
  })
}
