import type { CompletedPart, S3 } from '@aws-sdk/client-s3'
import type { FlatMetadata } from '@nodekeep/plugin-sdk'
import { isRefusal } from '../server/failures.ts'
import { type CommitOptions, commit } from './commit.ts'
import { metadataOf } from './object.ts'

/** How long the removal of the parts of a failed upload may take, in milliseconds. */
const abortMs = 10_000

/** Where an object is, in the names of the client library. */
export interface Place {
  readonly Bucket: string
  readonly Key: string
}

/** An object that arrives in parts. It is not at its key before it is complete. */
export class PartUpload {
  readonly #s3: S3
  readonly #place: Place
  readonly #options: FlatMetadata & CommitOptions
  readonly #parts: CompletedPart[] = []
  #id: Promise<string> | undefined
  /** Whether the server may complete the object now or later. */
  #mayComplete = false

  constructor(s3: S3, place: Place, options: FlatMetadata & CommitOptions) {
    this.#s3 = s3
    this.#place = place
    this.#options = options
  }

  /** @param number counted from 1 */
  async send(number: number, bytes: Uint8Array, abortSignal: AbortSignal): Promise<void> {
    const part = await this.#part(number)
    const { ETag } = await this.#s3.uploadPart({ ...part, Body: bytes }, { abortSignal })
    this.#parts[number - 1] = { PartNumber: number, ETag }
  }

  /**
   * Copies a part within the server.
   *
   * @param source the encoded key, after the bucket and a slash
   * @param end the position after the last byte
   */
  async copy(
    number: number,
    source: string,
    { start, end }: { readonly start: number; readonly end: number },
    abortSignal: AbortSignal,
  ): Promise<void> {
    const range = { CopySource: source, CopySourceRange: `bytes=${start}-${end - 1}` }
    const part = await this.#part(number)
    const { CopyPartResult } = await this.#s3.uploadPartCopy({ ...part, ...range }, { abortSignal })
    this.#parts[number - 1] = { PartNumber: number, ETag: CopyPartResult?.ETag }
  }

  async complete(): Promise<void> {
    const { signal } = this.#options
    const upload = { ...this.#place, UploadId: await this.#id, MultipartUpload: { Parts: this.#parts } }
    this.#mayComplete = true
    await commit(this.#options, () =>
      this.#s3.completeMultipartUpload(upload, { abortSignal: signal }).catch((error: unknown) => {
        this.#mayComplete = !isRefusal(error)
        throw error
      }),
    )
  }

  /** Removes the parts if the server answers. An unfinished upload that stays is removed later. */
  async abort(): Promise<void> {
    // A server may take the parts away from an object that it completes at the same moment.
    if (this.#id === undefined || this.#mayComplete) return
    const abortSignal = AbortSignal.timeout(abortMs)
    try {
      const UploadId = await this.#id
      await this.#s3.abortMultipartUpload({ ...this.#place, UploadId }, { abortSignal })
    } catch {
      // It could not begin, or the server is away.
    }
  }

  async #part(number: number) {
    this.#id ??= this.#begin()
    return { ...this.#place, UploadId: await this.#id, PartNumber: number }
  }

  async #begin(): Promise<string> {
    const { signal } = this.#options
    const { UploadId } = await this.#s3.createMultipartUpload(
      { ...this.#place, Metadata: metadataOf(this.#options) },
      { abortSignal: signal },
    )
    // With an empty id, the next requests would replace and remove the object at the key.
    if (!UploadId) throw new Error('The server did not begin an upload in parts.')
    return UploadId
  }
}
