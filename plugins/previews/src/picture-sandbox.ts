import { extname } from 'node:path'
import { type ContentSource, isNodekeepError, type Log, messageOf } from '@nodekeep/plugin-sdk'
import {
  type ContentAnswer,
  type ContentRunOptions,
  ContentSandbox,
  libraryFolders,
} from '@nodekeep/plugin-sdk/sandbox-process'
import type { PreviewOrder } from './protocol/orders.ts'

const mebibyte = 2 ** 20

/** The libraries that the program in the sandbox imports. */
const libraries = ['sharp', '@img/sharp-wasm32', 'exif-reader', 'music-metadata']

const limits = {
  // The pixels are in a WebAssembly memory.
  heapBytes: 256 * mebibyte,
  openFiles: 256,
  memoryBytes: 1024 * mebibyte,
  timeoutMs: 30_000,
  idleMs: 60_000,
  largestAnswer: 32 * mebibyte,
}

/** The process that decodes pictures. It starts with the first one, and ends when nobody needs it. */
export class PictureSandbox {
  readonly #log: Log
  #sandbox: ContentSandbox | null = null
  /** Why the last picture could not be decoded, if it was the fault of the process. */
  problem: string | null = null

  constructor(log: Log) {
    this.#log = log
  }

  /** @throws as `ContentSandbox.run` */
  async run(
    order: PreviewOrder,
    { size, bytes }: ContentSource,
    options: ContentRunOptions & { readonly signal: AbortSignal },
  ): Promise<ContentAnswer> {
    let ofContent: unknown
    async function* read() {
      try {
        yield* bytes
      } catch (error) {
        ofContent = error
        throw error
      }
    }
    try {
      const answer = await this.#started().run(order, { size, bytes: read() }, options)
      this.problem = null
      return answer
    } catch (error) {
      const isOfContent =
        error === ofContent || (isNodekeepError(error) && error.code !== 'SERVICE_UNAVAILABLE')
      this.problem = isOfContent || options.signal.aborted ? null : messageOf(error)
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#sandbox?.stop()
  }

  #started(): ContentSandbox {
    const extension = extname(import.meta.url)
    const inSandbox = (name: string) => new URL(`./sandbox/${name}${extension}`, import.meta.url)
    this.#sandbox ??= new ContentSandbox({
      ...limits,
      main: inSandbox('main'),
      readable: [new URL('./protocol/', import.meta.url), ...libraryFolders(libraries, import.meta.url)],
      // The WebAssembly build has threads.
      flags: ['--allow-worker', '--disable-warning=PERM0006', `--import=${inSandbox('file-constants').href}`],
      log: this.#log,
    })
    return this.#sandbox
  }
}
