import type { FilesService, IndexedEntry } from '@nodekeep/plugin-sdk'
import type { Databases } from '../database/databases.ts'
import type { Extractor, TextContent } from '../indexing/extractor.ts'
import type { SnippetPart, WantedWords } from '../inside/snippet.ts'
import { formatOf } from '../kinds.ts'

/** The first bytes of a file in which a snippet is looked for. */
const mostBytes = 1024 ** 2

/** Milliseconds that an answer waits for all its snippets. Those that take longer are left out. */
const waitMs = 500

/** A file whose words match. */
interface ContentMatch {
  readonly number: number
  readonly entry: IndexedEntry
}

interface SnippetServices {
  readonly files: FilesService
  readonly databases: Databases
  readonly extractor: Extractor
}

/** Makes snippets: the texts are not stored, so they are extracted again. */
export class Snippets {
  readonly #services: SnippetServices

  constructor(services: SnippetServices) {
    this.#services = services
  }

  /** @returns a snippet for each match, in their order; null for one that cannot be made in time */
  async of(
    userUuid: string,
    matches: readonly ContentMatch[],
    wanted: readonly WantedWords[],
    signal: AbortSignal,
  ): Promise<(readonly SnippetPart[] | null)[]> {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(waitMs)])
    return Promise.all(
      matches.map(async (match) => {
        try {
          const content = await this.#contentOf(userUuid, match, inTime)
          return content === null ? null : await this.#services.extractor.snippet(content, wanted, inTime)
        } catch {
          // It is an addition, and the file may have changed.
          return null
        }
      }),
    )
  }

  async #contentOf(
    userUuid: string,
    { number, entry }: ContentMatch,
    signal: AbortSignal,
  ): Promise<TextContent | null> {
    const { files, databases } = this.#services
    const kept = await databases.call(userUuid, 'text', number)
    if (kept !== null) return { format: 'text', size: kept.length, bytes: chunksOf(kept) }
    const format = formatOf(entry)
    if (format === null || format === 'pdf') return null
    const size = Math.min(entry.size, mostBytes)
    const { content } = await files
      .for({ uuid: userUuid })
      .read(entry.path, { start: 0, end: size - 1, signal })
    return { format, size, bytes: content }
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
