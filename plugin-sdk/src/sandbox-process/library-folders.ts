import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * Returns the folders of libraries and of those that they depend on, as `readable` of a sandbox whose program imports them. Optional
 * dependencies and peers do not count: name those that are needed.
 *
 * @param names such as `unpdf` or `@scope/library`
 * @param from `import.meta.url` of a module that could import the libraries
 * @throws Error when a library is not installed
 */
export function libraryFolders(names: readonly string[], from: string): URL[] {
  const found = new Map<string, URL>()
  const visit = (name: string, importer: string) => {
    const manifest = findPackageJSON(name, importer)
    if (manifest === undefined) throw new Error(`The library ${name} is not installed.`)
    if (found.has(manifest)) return
    const url = pathToFileURL(manifest)
    found.set(manifest, new URL('./', url))
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      readonly dependencies?: Readonly<Record<string, string>>
    }
    for (const dependency of Object.keys(dependencies)) visit(dependency, url.href)
  }
  for (const name of names) visit(name, from)
  return [...found.values()]
}
