import { libraryFolders } from '@nodekeep/plugin-sdk/sandbox-process'
import type { TextFormat } from '../inside/order.ts'

/** The libraries of the sandbox, by the formats that need them. */
const libraries = { html: 'htmlparser2', pdf: 'unpdf' } as const

/** The URL of the library for a format; empty for a text. */
export function libraryOf(format: TextFormat): string {
  return format === 'text' ? '' : import.meta.resolve(libraries[format])
}

/** The folders of the libraries, and of those that they need. */
export function readableFolders(): URL[] {
  return libraryFolders(Object.values(libraries), import.meta.url)
}
