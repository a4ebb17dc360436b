import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TextFormat } from '../inside/order.ts'

/** The libraries of the sandbox, by the formats that need them. */
const libraries = { html: 'htmlparser2', pdf: 'unpdf' } as const

/** The URL of the library for a format; empty for a text. */
export function libraryOf(format: TextFormat): string {
  return format === 'text' ? '' : import.meta.resolve(libraries[format])
}

/** The folders of the libraries, and of the packages that they need. */
export function libraryFolders(): URL[] {
  const found = new Map<string, URL>()
  const add = (name: string, base: string) => {
    const manifest = findPackageJSON(name, base)
    if (manifest === undefined || found.has(manifest)) return
    found.set(manifest, pathToFileURL(dirname(manifest) + sep))
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      readonly dependencies?: Readonly<Record<string, string>>
    }
    for (const dependency of Object.keys(dependencies)) add(dependency, manifest)
  }
  for (const name of Object.values(libraries)) add(name, import.meta.url)
  return [...found.values()]
}
