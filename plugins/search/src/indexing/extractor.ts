import type { Log } from '@nodekeep/plugin-sdk'
import type { ContentAnswer, ContentSandbox } from '@nodekeep/plugin-sdk/sandbox-process'
import { moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { ExtractionOrder, TextFormat } from '../inside/order.ts'
import type { SnippetPart, WantedWords } from '../inside/snippet.ts'
import { snippetIn } from './checked-answer.ts'

/** Milliseconds without a content after which the process ends. */
const idleMs = 30_000

/** Bytes of V8's heap in the process. */
const heapBytes = 384 * 1024 ** 2

/** Bytes of the process in RAM. */
const memoryBytes = 768 * 1024 ** 2

/** Bytes of an answer: each character of a text has at most three. */
const largestAnswer = 16 * 1024 ** 2

/** A content with text. */
export interface TextContent {
  readonly format: TextFormat
  /** Bytes. */
  readonly size: number
  readonly bytes: AsyncIterable<Uint8Array>
}

interface ExtractorOptions {
  /** Milliseconds after which a content has failed. */
  readonly timeoutMs: number
  readonly log: Log
}

/** Extracts texts in a sandbox process, which starts with the first content, and ends when it is idle. */
export class Extractor {
  readonly #options: ExtractorOptions
  #sandbox: Promise<ContentSandbox> | null = null

  constructor(options: ExtractorOptions) {
    this.#options = options
  }

  /**
   * Extracts the text of a content.
   *
   * @returns in UTF-8
   * @throws ContentFailure if it has none; NodekeepError SERVICE_UNAVAILABLE; the reason of the signal; and what the content throws
   */
  async text(content: TextContent, signal: AbortSignal): Promise<Uint8Array> {
    const { parts } = await this.#run(content, null, signal)
    return parts[0] ?? new Uint8Array()
  }

  /**
   * Extracts the part of a content with the words that were looked for.
   *
   * @returns null if the content does not have them
   * @throws as `text` does
   */
  async snippet(
    content: TextContent,
    wanted: readonly WantedWords[],
    signal: AbortSignal,
  ): Promise<readonly SnippetPart[] | null> {
    const { answer } = await this.#run(content, wanted, signal)
    return snippetIn(answer)
  }

  async stop(): Promise<void> {
    const sandbox = await this.#sandbox?.catch(() => null)
    await sandbox?.stop()
  }

  async #run(
    { format, size, bytes }: TextContent,
    wanted: readonly WantedWords[] | null,
    signal: AbortSignal,
  ): Promise<ContentAnswer> {
    this.#sandbox ??= this.#start()
    const sandbox = await this.#sandbox
    const { libraryOf } = await import('./libraries.ts')
    const order: ExtractionOrder = { format, library: libraryOf(format), wanted }
    return sandbox.run(order, { size, bytes }, { signal })
  }

  /** A node that extracts nothing does without the modules of sandboxes. */
  async #start(): Promise<ContentSandbox> {
    const { ContentSandbox } = await import('@nodekeep/plugin-sdk/sandbox-process')
    const { readableFolders } = await import('./libraries.ts')
    const { timeoutMs, log } = this.#options
    return new ContentSandbox({
      main: moduleBeside(import.meta.url, '../inside/main'),
      readable: readableFolders(),
      heapBytes,
      memoryBytes,
      openFiles: 64,
      timeoutMs,
      idleMs,
      largestAnswer,
      log,
    })
  }
}
