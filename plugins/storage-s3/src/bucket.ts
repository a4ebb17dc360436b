import type { S3 } from '@aws-sdk/client-s3'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Configuration } from './configuration.ts'
import { removeUnfinishedUploads } from './objects/unfinished-uploads.ts'
import { type Finding, type Findings, probeServer } from './probe/probe.ts'
import { connect } from './server/connect.ts'

/** The beginning of keys that are not those of files, behind the prefix of the configuration. */
export const ownFolder = '.nodekeep/'

/** The age from which an unfinished upload is removed, in milliseconds. One over a slow line takes days. */
const unfinishedMs = 7 * 24 * 60 * 60_000

/** A bucket of a server, with what the server was found to keep. */
export class Bucket {
  readonly name: string
  /** The beginning of all keys. */
  readonly prefix: string
  readonly #config: Configuration
  readonly #used = Promise.withResolvers<void>()
  #isUsed = false
  #client: Promise<S3> | undefined
  #findings: Findings | null

  /** @param findings what is known of the server already */
  constructor(config: Configuration, findings: Findings | null = null) {
    this.#config = config
    this.#findings = findings
    this.name = config.bucket
    this.prefix = config.prefix
  }

  /** The result of the last probe; null before the first one. */
  get findings(): Findings | null {
    return this.#findings
  }

  /** Resolves when the storage needs its first request. */
  get used(): Promise<void> {
    return this.#used.promise
  }

  /** Whether the storage has needed a request. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  /** A promise that the server does not keep, and without which files are not safe; undefined if there is none. */
  get broken(): Finding | undefined {
    return this.#findings?.findings.find(({ isNeeded, isKept }) => isNeeded && !isKept)
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
    this.#isUsed = true
    this.#used.resolve()
    return this.#connected()
  }

  /**
   * Finds out what the server keeps, and removes unfinished uploads that are old.
   *
   * @throws the error of a failed request
   */
  async probe(signal: AbortSignal): Promise<Findings> {
    const s3 = await this.#connected()
    const found = await probeServer(s3, this.name, `${this.prefix}${ownFolder}probe/`, signal)
    this.#findings = found
    const before = new Date(Date.now() - unfinishedMs)
    await removeUnfinishedUploads(s3, { Bucket: this.name, Prefix: this.prefix }, before, signal)
    return found
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
