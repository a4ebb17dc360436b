import { isPromise } from 'node:util/types'
import {
  type FileEntry,
  type FileHeaderSource,
  type RegistryReader,
  userOf,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'

/** Milliseconds for which an answer waits for headers of another plugin. */
const longestMs = 1000

type File = Pick<FileEntry, 'path' | 'size' | 'revision'>
type Headers = Readonly<Record<string, string>>

/**
 * Returns the headers that other plugins add to an answer about a file: `null` at once if no plugin adds any. A plugin that fails or is
 * late adds none.
 */
export type AddedHeaders = (request: FastifyRequest, file: File) => Promise<Headers> | null

/** Asks the sources of headers. */
export function addedHeaders(sources: RegistryReader<FileHeaderSource>): AddedHeaders {
  return (request, { path, size, revision }) => {
    const file = { path, size, revision }
    const asked = Array.from(sources, async ([name, source]) => {
      const tell = (reason: object) =>
        request.log.warn({ ...reason, source: name }, 'An answer about a file lacks headers of a plugin.')
      try {
        const headers = Object.entries(await ask(source, request, file))
        const leftOut = headers.filter((header) => !isAllowed(header)).map(([header]) => header)
        if (leftOut.length > 0) tell({ leftOut: leftOut.join(' ') })
        return Object.fromEntries(headers.filter(isAllowed))
      } catch (error) {
        tell({ err: error })
        return {}
      }
    })
    return asked.length === 0 ? null : Promise.all(asked).then((added) => Object.assign({}, ...added))
  }
}

function ask(source: FileHeaderSource, request: FastifyRequest, file: File): Promise<Headers> | Headers {
  const { uuid } = userOf(request)
  const answer = source.headersOf({ uuid }, file)
  return isPromise(answer) ? withTimeLimit(answer, longestMs, 'It took too long.') : answer
}

/** Headers that programs read as protocol, such as those of caches and cookies, are for `files` alone. */
function isAllowed([header, value]: [header: string, value: unknown]): boolean {
  return /^x-[a-z0-9-]+$/.test(header) && typeof value === 'string' && /^(?! )[\x20-\x7e]*(?<! )$/.test(value)
}
