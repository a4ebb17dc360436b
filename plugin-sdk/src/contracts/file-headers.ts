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
   * @returns names in lower case that begin with `x-`, and values of printable characters of ASCII without a space at their ends. Others are
   * left out, and the log names them. `{}` for none
   */
  headersOf(
    user: Pick<User, 'uuid'>,
    file: Pick<FileEntry, 'path' | 'size' | 'revision'>,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>
}

/**
 * Headers that plugins add to answers about files. Without entries, `files` does nothing for it. Entries of several plugins are asked at
 * the same time, so two of them must not use one name: begin it with `x-` and the id of the plugin.
 *
 * @example headers.add(id, { headersOf: ({ uuid }, { path, revision }) => ({ 'x-scan': scanned.get(`${uuid}${path}`) === revision ? 'clean' : 'pending' }) })
 */
export const FileHeaders = defineRegistry<FileHeaderSource>('file-headers', 1, (source) =>
  lackingMethod(source, 'headersOf'),
)
