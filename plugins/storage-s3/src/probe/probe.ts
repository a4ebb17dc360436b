import { randomUUID } from 'node:crypto'
import type { S3 } from '@aws-sdk/client-s3'
import type { FlatPage } from '@nodekeep/plugin-sdk'
import { etagOf, metadataOf, objectOf } from '../objects/object.ts'
import { pageOf } from '../objects/pages.ts'
import { openObject } from '../objects/read.ts'
import { isConditionFailed, statusOf } from '../server/failures.ts'

/** A promise of the protocol, and whether a server keeps it. */
export interface Finding {
  readonly promise: string
  readonly isKept: boolean
  /** The consequence for the files if it is not kept. */
  readonly otherwise: string
  /** Whether files would not be safe without it, so the storage refuses to work. */
  readonly isNeeded: boolean
}

/** AWS takes an ETag in quotes as a condition; some servers take it without quotes only. */
type ConditionForm = 'quoted' | 'plain'

/** The result of a probe. */
export interface ProbeResult {
  readonly findings: readonly Finding[]
  /** Null if the server does not check conditions of writes. */
  readonly conditionForm: ConditionForm | null
}

/** Names that servers have changed or lost, in the order of their bytes. */
const oddNames = ['a', 'a!', 'a/inner', 'b \u0001+&%25', 'ä', '日本', '\uE000', '😀']

/** Writers of a race. */
const writers = 8

/** The age from which objects of a probe that was cut off are removed, in milliseconds. */
const oldMs = 24 * 60 * 60_000

/** The bucket of a probe. */
interface ProbedBucket {
  readonly name: string
  /** The most keys to list with one request. */
  readonly pageKeys: number
}

/**
 * Finds out what a server keeps, with some 40 requests for small objects, which are removed afterwards.
 *
 * @param prefix the beginning of the keys of all probes of this bucket
 * @throws the error of a request that fails for another reason than a promise that is not kept, such as wrong credentials
 */
export async function probeServer(
  s3: S3,
  bucket: ProbedBucket,
  prefix: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const trials = new Trials(s3, bucket, `${prefix}${randomUUID()}/`, signal)
  const find = async (
    promise: string,
    otherwise: string,
    isNeeded: boolean,
    trial: () => Promise<boolean>,
  ): Promise<Finding> => ({ promise, otherwise, isNeeded, isKept: await isDone(trial) })
  try {
    const metadata = await find(
      'An object keeps the dates and the revision that are stored with it.',
      'The node could not tell what it has stored.',
      true,
      () => trials.metadata(),
    )
    const listing = await find(
      'A listing shows at once what was stored and removed, with all names as they are, in the order of their bytes.',
      'Files would be missing in listings.',
      true,
      () => trials.listing(),
    )
    const copies = await find(
      'The server copies objects by itself.',
      'The node could not move files.',
      true,
      () => trials.copies(),
    )
    const parts = await find(
      'Large objects arrive in parts, and unfinished ones are listed.',
      'Large files could not be stored, or uploads that were cut off could take space for ever.',
      true,
      () => trials.parts(),
    )
    const ranges = await find(
      'A part of an object can be read.',
      'Each reading begins at the start of the file, so a film takes long to begin in its middle.',
      false,
      () => trials.ranges(),
    )
    let conditionForm: ConditionForm | null = null
    const conditions = await find(
      'Writes are checked against the version before, and of several writers at a time one wins.',
      'If two programs or two nodes change the same file at the same moment, the later one wins, though it did not know the other ' +
        'change. The clients of one node are safe from each other.',
      false,
      async () => {
        conditionForm = await trials.conditionForm()
        return conditionForm !== null
      },
    )
    return { findings: [metadata, listing, copies, parts, ranges, conditions], conditionForm }
  } finally {
    await trials.clear(prefix)
  }
}

/** Returns false if the server says that it has no such function. */
async function isDone(trial: () => Promise<boolean>): Promise<boolean> {
  try {
    return await trial()
  } catch (error) {
    if (isUnknownFunction(error)) return false
    throw error
  }
}

function isUnknownFunction(error: unknown): boolean {
  return [400, 405, 411, 501].includes(statusOf(error) ?? 0)
}

/** Each trial works on keys of its own. */
class Trials {
  readonly #s3: S3
  readonly #bucket: ProbedBucket
  readonly #prefix: string
  readonly #options: { readonly abortSignal: AbortSignal }

  constructor(s3: S3, bucket: ProbedBucket, prefix: string, abortSignal: AbortSignal) {
    this.#s3 = s3
    this.#bucket = bucket
    this.#prefix = prefix
    this.#options = { abortSignal }
  }

  async metadata(): Promise<boolean> {
    const Metadata = metadataOf({ revision: 'a-revision', created: new Date(0) })
    await this.#put('metadata', 'x', { Metadata })
    const { revision, created, size } = objectOf('', await this.#head('metadata'))
    return revision === 'a-revision' && created.getTime() === 0 && size === 1
  }

  async listing(): Promise<boolean> {
    for (const name of oddNames) await this.#put(`names/${name}`, '')
    const before = await this.#namesIn('names/')
    await this.#s3.deleteObject(this.#at('names/ä'), this.#options)
    const after = await this.#namesIn('names/')
    const expected = oddNames.filter((name) => name !== 'a/inner')
    return (
      before === [...expected, 'a/'].join('\n') &&
      after === [...expected.filter((name) => name !== 'ä'), 'a/'].join('\n')
    )
  }

  async copies(): Promise<boolean> {
    await this.#put('source', 'copied', { Metadata: { of: 'source' } })
    const { Bucket, Key } = this.#at('source')
    const copy = {
      ...this.#at('copy'),
      CopySource: `${Bucket}/${Key}`,
      MetadataDirective: 'REPLACE',
    } as const
    await this.#s3.copyObject({ ...copy, Metadata: { of: 'copy' } }, this.#options)
    const { ContentLength, Metadata } = await this.#head('copy')
    return ContentLength === 'copied'.length && Metadata?.of === 'copy'
  }

  async parts(): Promise<boolean> {
    const begun = await this.#s3.createMultipartUpload(
      { ...this.#at('parts'), Metadata: { kept: 'yes' } },
      this.#options,
    )
    const upload = { ...this.#at('parts'), UploadId: begun.UploadId }
    const { ETag } = await this.#s3.uploadPart({ ...upload, PartNumber: 1, Body: 'a part' }, this.#options)
    const { Uploads = [] } = await this.#s3.listMultipartUploads(
      { Bucket: this.#bucket.name, Prefix: this.#prefix },
      this.#options,
    )
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    await this.#s3.completeMultipartUpload({ ...upload, MultipartUpload }, this.#options)
    const { ContentLength, Metadata } = await this.#head('parts')
    return ContentLength === 'a part'.length && Metadata?.kept === 'yes' && Uploads.length === 1
  }

  async ranges(): Promise<boolean> {
    await this.#put('range', '0123456789')
    const range = { start: 3, end: 5, signal: this.#options.abortSignal }
    const reading = await openObject(this.#s3, this.#at('range'), range)
    if (reading === null) return false
    const chunks = await Array.fromAsync(reading.content as AsyncIterable<Uint8Array>)
    return reading.start === 3 && Buffer.concat(chunks).toString() === '345'
  }

  async conditionForm(): Promise<ConditionForm | null> {
    const { ETag = '' } = await this.#put('condition', 'first')
    if (!(await this.#isRefused('condition', { IfNoneMatch: '*' }))) return null
    if (!(await this.#isRefused('condition', { IfMatch: `"${'0'.repeat(32)}"` }))) return null
    const isFree = !(await this.#isRefused('free', { IfNoneMatch: '*' }))
    const race = Array.from({ length: writers }, () => this.#isRefused('race', { IfNoneMatch: '*' }))
    const refused = (await Promise.all(race)).filter(Boolean)
    if (!isFree || refused.length !== writers - 1) return null
    if (!(await this.#isRefused('condition', { IfMatch: ETag }))) return 'quoted'
    return (await this.#isRefused('condition', { IfMatch: etagOf(ETag) })) ? null : 'plain'
  }

  /** Removes the keys of these trials, and old ones of other probes. */
  async clear(prefix: string): Promise<void> {
    const signal = this.#options.abortSignal
    const { name, pageKeys } = this.#bucket
    const old = new Date(Date.now() - oldMs)
    for (let next: string | null | undefined; next !== null; ) {
      const options = { isDeep: true, limit: pageKeys, signal, ...(next !== undefined && { next }) }
      const page: FlatPage = await pageOf(this.#s3, name, prefix, options)
      for (const { key, modified } of page.objects) {
        if (!key.startsWith(this.#prefix) && modified > old) continue
        await this.#s3.deleteObject({ Bucket: name, Key: key }, this.#options)
      }
      next = page.next
    }
  }

  #at(key: string) {
    return { Bucket: this.#bucket.name, Key: `${this.#prefix}${key}` }
  }

  #put(key: string, text: string, more: object = {}) {
    const ContentLength = Buffer.byteLength(text)
    return this.#s3.putObject({ ...this.#at(key), Body: text, ContentLength, ...more }, this.#options)
  }

  #head(key: string) {
    return this.#s3.headObject(this.#at(key), this.#options)
  }

  /** The names of objects, then those of folders. */
  async #namesIn(folder: string): Promise<string> {
    const prefix = `${this.#prefix}${folder}`
    const signal = this.#options.abortSignal
    const { objects, folders } = await pageOf(this.#s3, this.#bucket.name, prefix, { isDeep: false, signal })
    return [...objects.map(({ key }) => key), ...folders].map((key) => key.slice(prefix.length)).join('\n')
  }

  async #isRefused(key: string, condition: { IfMatch?: string; IfNoneMatch?: string }): Promise<boolean> {
    try {
      await this.#put(key, 'next', condition)
      return false
    } catch (error) {
      if (isConditionFailed(error) || isUnknownFunction(error)) return true
      throw error
    }
  }
}
