import { createHash } from 'node:crypto'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ByteRange } from '@nodekeep/plugin-sdk/stored-content'
import { cleaningVersion } from '../pictures/cleaned-picture.ts'
import type { PictureSource } from '../pictures/picture-bytes.ts'
import type { PicturePlans } from '../pictures/picture-plans.ts'
import type { PicturePlan } from '../pictures/plan-picture.ts'
import { readCleaned } from '../pictures/read-cleaned.ts'
import { closeReading, readVersion } from '../read-version.ts'
import type { Share } from '../share.ts'
import { nothingThere } from './not-there.ts'
import type { Places } from './places.ts'

/** A file of a link, in one version, as it goes out. */
export interface GoingFile {
  readonly name: string
  /** Bytes of what goes out. */
  readonly size: number
  readonly modified: Date
  /** Names what goes out, and tells nothing of the file. */
  readonly tag: string
  /**
   * The bytes, or a range of them. Its memory may be used again when the chunk after the next one is requested.
   *
   * @throws NodekeepError CONFLICT, before its first chunk, if the file has changed meanwhile
   */
  read(range: ByteRange | null): AsyncGenerator<Uint8Array, void, undefined>
}

/** Reads files of links as they go out: pictures without places and camera data, unless the maker wants them. */
export class SharedFiles {
  readonly #places: Places
  readonly #plans: PicturePlans

  constructor(places: Places, plans: PicturePlans) {
    this.#places = places
    this.#plans = plans
  }

  /**
   * Looks at a file.
   *
   * @param below the path below the shared entry; empty for itself
   * @param signal aborted when nobody waits any more for what goes out
   * @throws NodekeepError NOT_FOUND; UNPROCESSABLE for a picture whose data cannot be removed; the reason of the signal
   */
  async look(share: Share, below: string, signal: AbortSignal): Promise<GoingFile> {
    const file = await this.#places.at(share, below, ({ files, path }) => files.stat(path))
    if (file.type !== 'file') throw nothingThere()
    const { name, size, revision, modified } = file
    const tagOf = (rule: string) =>
      createHash('sha256')
        .update(JSON.stringify([share.id, below, revision, rule]))
        .digest('base64url')
        .slice(0, 32)
    const sourceOf = (until?: AbortSignal): PictureSource => ({
      size,
      read: (start, end) =>
        this.#read(share, below, revision, start === 0 && end === size - 1 ? null : { start, end }, until),
    })
    const version = { userUuid: share.userUuid, path: file.path, revision }
    const plan: PicturePlan = share.keepMetadata
      ? { kind: 'unchanged' }
      : await this.#plans.for(version, sourceOf(signal), signal)
    if (plan.kind === 'refused') throw new NodekeepError('UNPROCESSABLE', plan.message, { permanent: true })
    if (plan.kind === 'unchanged')
      return {
        name,
        size,
        modified,
        tag: tagOf(''),
        read: (range) => this.#read(share, below, revision, range),
      }
    const all = { start: 0, end: plan.length - 1 }
    return {
      name,
      size: plan.length,
      modified,
      tag: tagOf(`clean${cleaningVersion}`),
      read: (range) => readCleaned(plan, sourceOf(), range ?? all),
    }
  }

  #read(
    share: Share,
    below: string,
    revision: string,
    range: ByteRange | null,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const options = { reuseBuffers: true, ...range, ...(signal && { signal }) }
    return readVersion(revision, () =>
      this.#places.at(share, below, ({ files, path }) => files.read(path, options), closeReading),
    )
  }
}
