import { randomUUID } from 'node:crypto'
import {
  concurrently,
  type FlatCopyOptions,
  type FlatObject,
  type FlatPage,
  type FlatPageOptions,
  type FlatPutOptions,
  type FlatReading,
  type FlatStore,
  NodekeepError,
  type StorageDriverCallOptions,
  type StorageDriverReadOptions,
} from '@nodekeep/plugin-sdk'
import { type Bucket, ownFolder } from './bucket.ts'
import { copyObject } from './objects/copy.ts'
import { objectOf, type S3Object } from './objects/object.ts'
import { pageOf } from './objects/pages.ts'
import { PartMemory } from './objects/parts.ts'
import { openObject } from './objects/read.ts'
import { putObject } from './objects/write.ts'
import { changeError, isMissingObject, requestError } from './server/failures.ts'

/** The longest key, in bytes of UTF-8 (S3 API, "Object key naming guidelines"). */
const longestKey = 1024

/** How long a request without a content may take, in milliseconds. */
const answerMs = 30_000

/** Objects that are removed at a time. */
const removalsAtOnce = 16

/** The objects of a bucket as files. Keys of files are their paths behind the prefix, as other programs see them. */
export class S3Store implements FlatStore {
  readonly #bucket: Bucket
  readonly #scanEveryMs: number
  readonly #memory = new PartMemory()

  /** @param scanEveryMs the time between two comparisons of the whole bucket, in milliseconds: S3 tells nobody of changes */
  constructor(bucket: Bucket, scanEveryMs: number) {
    this.#bucket = bucket
    this.#scanEveryMs = scanEveryMs
  }

  get supports() {
    const conditionalWrites = (this.#bucket.lastProbe?.conditionForm ?? null) !== null
    return { durable: true, modified: true, conditionalWrites }
  }

  async page(prefix: string, options: FlatPageOptions): Promise<FlatPage> {
    const { prefix: base, name, pageKeys } = this.#bucket
    if (isTooLong(`${base}${prefix}`)) return { objects: [], folders: [], next: null }
    const { after, limit = pageKeys } = options
    const s3 = await this.#bucket.client()
    const page = await pageOf(s3, name, `${base}${prefix}`, {
      ...options,
      limit: Math.min(limit, pageKeys),
      signal: withAnswerLimit(options.signal),
      ...(after !== undefined && { after: `${base}${after}` }),
    })
    const isOfFiles = (key: string) => !key.startsWith(ownFolder)
    return {
      objects: page.objects
        .map((object) => ({ ...object, key: object.key.slice(base.length) }))
        .filter(({ key }) => isOfFiles(key)),
      folders: page.folders.map((folder) => folder.slice(base.length)).filter(isOfFiles),
      next: page.next,
    }
  }

  async head(key: string, { signal }: StorageDriverCallOptions): Promise<S3Object | null> {
    const place = this.#placeOf(key)
    if (isTooLong(place.Key)) return null
    const s3 = await this.#bucket.client()
    try {
      return objectOf(key, await s3.headObject(place, { abortSignal: withAnswerLimit(signal) }))
    } catch (error) {
      if (isMissingObject(error)) return null
      throw requestError(error)
    }
  }

  async get(key: string, options: StorageDriverReadOptions): Promise<FlatReading | null> {
    const place = this.#placeOf(key)
    if (isTooLong(place.Key)) return null
    return openObject(await this.#bucket.client(), place, options)
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, options: FlatPutOptions): Promise<FlatObject> {
    const place = this.#placeOf(key)
    refuseTooLong(place.Key)
    const s3 = await this.#bucket.client()
    const { modified = new Date(), revision, created } = options
    const size = await putObject(s3, place, content, {
      ...options,
      modified,
      acquire: (partBytes) => this.#memory.acquire(userOf(key), partBytes),
      conditionOf: (replaces) => this.#conditionOf(replaces),
      head: () => this.head(key, options),
    })
    return { key, size, modified, created, revision }
  }

  async copy(source: string, key: string, options: FlatCopyOptions): Promise<FlatObject> {
    const place = this.#placeOf(key)
    refuseTooLong(place.Key)
    const s3 = await this.#bucket.client()
    const copied = await this.head(source, options)
    if (copied === null) throw new NodekeepError('NOT_FOUND', 'There is no file at this path.')
    const { modified = new Date(), revision, created } = options
    const from = { ...copied, key: this.#placeOf(source).Key }
    await copyObject(s3, from, place, { ...options, modified, head: () => this.head(key, options) })
    return { key, size: copied.size, modified, created, revision }
  }

  async delete(keys: readonly string[], { signal }: StorageDriverCallOptions): Promise<void> {
    const s3 = await this.#bucket.client()
    // One request for each key: that for several keys needs a checksum that some servers refuse.
    await concurrently(keys, removalsAtOnce, async (key) => {
      const place = this.#placeOf(key)
      if (isTooLong(place.Key)) return
      try {
        await s3.deleteObject(place, { abortSignal: withAnswerLimit(signal) })
      } catch (error) {
        throw changeError(error)
      }
    })
  }

  async probe(signal: AbortSignal): Promise<void> {
    await this.page('', { isDeep: false, limit: 1, signal })
  }

  async watch(listener: (path: string) => void, signal: AbortSignal): Promise<void> {
    const timer = setInterval(() => listener('/'), this.#scanEveryMs).unref()
    signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  close(): Promise<void> {
    return this.#bucket.close()
  }

  /** Returns the id of what is stored in this place of the bucket. The first call stores it. */
  async storageId(signal: AbortSignal): Promise<string> {
    const s3 = await this.#bucket.client()
    const place = this.#placeOf(`${ownFolder}storage-id`)
    for (;;) {
      const found = await openObject(s3, place, { start: 0, end: undefined, signal })
      if (found !== null) {
        const chunks = await Array.fromAsync(found.content as AsyncIterable<Uint8Array>)
        return Buffer.concat(chunks).toString()
      }
      // Two nodes may store one at the same time. The later one counts for both when they read it next time.
      const id = { ...place, Body: randomUUID() }
      await s3.putObject(id, { abortSignal: signal })
    }
  }

  #placeOf(key: string) {
    return { Bucket: this.#bucket.name, Key: `${this.#bucket.prefix}${key}` }
  }

  #conditionOf(replaces: FlatObject | null): { IfMatch?: string; IfNoneMatch?: string } {
    if (replaces === null) return { IfNoneMatch: '*' }
    const { etag = '' } = replaces
    return { IfMatch: this.#bucket.lastProbe?.conditionForm === 'plain' ? etag : `"${etag}"` }
  }
}

/** Returns a signal that also aborts when the answer is late. */
function withAnswerLimit(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
}

/** The first part of a key is the id of a user. */
function userOf(key: string): string {
  return key.split('/', 1)[0] ?? ''
}

function isTooLong(key: string): boolean {
  return Buffer.byteLength(key) > longestKey
}

/** @throws NodekeepError VALIDATION_ERROR */
function refuseTooLong(key: string): void {
  if (!isTooLong(key)) return
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `The path is too long for this storage: with its prefix, it may have ${longestKey} bytes. Choose a shorter one.`,
  )
}
