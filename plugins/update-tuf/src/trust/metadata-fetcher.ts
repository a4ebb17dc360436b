import { readWithin } from '@nodekeep/plugin-sdk'
import type { Fetcher } from 'tuf-js'
import { DownloadHTTPError } from 'tuf-js/dist/error.js'
import type { RepositoryFiles } from '../transfer/repository-files.ts'
import { TransferFailure } from '../transfer/transfer-failure.ts'

/** Reads metadata for `tuf-js`, which hides the failures of transfers in texts. This remembers the last one. */
export class MetadataFetcher implements Fetcher {
  readonly #files: RepositoryFiles
  readonly #signal: AbortSignal
  /** The last failure that was not the lack of a file. */
  failure: unknown = null
  /** The root metadata that was read, in order. None of it is verified here. */
  readonly roots: Buffer[] = []

  constructor(files: RepositoryFiles, signal: AbortSignal) {
    this.#files = files
    this.#signal = signal
  }

  async downloadBytes(url: string, maxLength: number): Promise<Buffer> {
    try {
      const content = await readWithin(this.#files.read(new URL(url), maxLength, this.#signal), maxLength)
      if (url.endsWith('.root.json')) this.roots.push(content)
      return content
    } catch (error) {
      // A file of the next root keys that does not exist tells that there are none.
      if (error instanceof TransferFailure && error.isMissing) throw new DownloadHTTPError(error.message, 404)
      this.failure = error
      throw error
    }
  }

  /** `tuf-js` copies targets while nothing else runs, so the source downloads them itself. */
  async downloadFile(url: string): Promise<never> {
    throw new Error(`${url} is no metadata.`)
  }
}
