import type { S3 } from '@aws-sdk/client-s3'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Configuration } from './configuration.ts'
import { removeUnfinishedUploads } from './objects/unfinished-uploads.ts'
import { type Finding, type ProbeResult, probeServer } from './probe/probe.ts'
import { connect } from './server/connect.ts'

/** The beginning of keys that are not those of files, behind the prefix of the configuration. */
export const ownFolder = '.nodekeep/'

/** The age from which an unfinished upload is removed, in milliseconds. One over a slow line takes days. */
const unfinishedMs = 7 * 24 * 60 * 60_000

interface BucketOptions {
  /** The result of a probe, if there was one. */
  readonly lastProbe?: ProbeResult
  /** The most keys to list with one request. Default: 1,000, as many as servers tell (S3 API, "ListObjectsV2"). */
  readonly pageKeys?: number
}

/** A bucket of a server, with what the server was found to keep. */
export class Bucket {
  readonly name: string
  /** The beginning of all keys. */
  readonly prefix: string
  /** The most keys to list with one request. */
  readonly pageKeys: number
  readonly #config: Configuration
  readonly #used = Promise.withResolvers<void>()
  #client: Promise<S3> | undefined
  #lastProbe: ProbeResult | null

  constructor(config: Configuration, { lastProbe, pageKeys = 1000 }: BucketOptions = {}) {
    this.#config = config
    this.#lastProbe = lastProbe ?? null
    this.pageKeys = pageKeys
    this.name = config.bucket
    this.prefix = config.prefix
  }

  /** The result of the last probe; null before the first one. */
  get lastProbe(): ProbeResult | null {
    return this.#lastProbe
  }

  /** Resolves when the storage needs its first request. */
  get used(): Promise<void> {
    return this.#used.promise
  }

  /** A promise that the server does not keep, and without which files are not safe; undefined if there is none. */
  get broken(): Finding | undefined {
    return this.#lastProbe?.findings.find(({ isNeeded, isKept }) => isNeeded && !isKept)
  }

  /**
   * The client for the requests of the storage.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if a probe has found that files would not be safe on the server
   */
  client(): Promise<S3> {
    const { broken } = this
    if (broken !== undefined) {
      throw new NodekeepError(
        'SERVICE_UNAVAILABLE',
        'The server of this storage does not keep files safely. Its owner finds the reason in the health report.',
        { permanent: true, cause: new Error(`This does not hold: ${broken.promise}`) },
      )
    }
    this.#used.resolve()
    return this.#connected()
  }

  /**
   * Finds out what the server keeps, and removes unfinished uploads that are old.
   *
   * @throws the error of a failed request
   */
  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const s3 = await this.#connected()
    const probe = await probeServer(s3, this, `${this.prefix}${ownFolder}probe/`, signal)
    this.#lastProbe = probe
    const before = new Date(Date.now() - unfinishedMs)
    await removeUnfinishedUploads(s3, { Bucket: this.name, Prefix: this.prefix }, before, signal)
    return probe
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => null)
    client?.destroy()
  }

  /** A client that could not be made is tried again. */
  #connected(): Promise<S3> {
    this.#client ??= connect(this.#config).catch((error) => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }
}
