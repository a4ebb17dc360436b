import { defineRegistry, lackingMethod } from '../service.ts'
import type { FileEntry } from './files.ts'
import type { User } from './users.ts'

/**
 * Knows a fact about files, such as an address of their content, which answers of `files` have as headers. Its name in the registry
 * names it in the log.
 */
export interface FileHeaderSource {
  /**
   * Returns headers for the answer of `GET /stat` or `/read` about a file. It is called for each of them, so it must be quick: after
   * one second, or if it fails, the answer goes without.
   *
   * @returns names in lower case that begin with `x-`, and values of visible characters of ASCII; others are left out. `{}` for none
   */
  headersOf(
    user: Pick<User, 'uuid'>,
    file: Pick<FileEntry, 'path' | 'size' | 'revision'>,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>
}

/** Headers that plugins add to answers about files. Without entries, `files` does nothing for it. */
export const FileHeaders = defineRegistry<FileHeaderSource>('file-headers', 1, (source) =>
  lackingMethod(source, 'headersOf'),
)
