import type { StorageEntry } from '../contracts/storage.ts'
import { conflict, NodekeepError } from '../errors.ts'
import { driverError } from './driver-error.ts'

/** How the content of a read is passed on. */
interface ContentOfReadOptions {
  /** Bytes of the driver before the first requested one. */
  readonly skipped: number
  /** The number of requested bytes. */
  readonly length: number
  /** Whether the reader gets copies of the chunks. */
  readonly copies: boolean
  /** Called once, when the driver's content is closed. */
  readonly onClose: () => void
}

/**
 * The content of a read as its reader gets it: exactly the requested bytes of what the driver yields, or an error. It can be
 * ended from outside, also before its loop has begun.
 */
export class ContentOfRead implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #copies: boolean
  readonly #onClose: () => void
  #skipped: number
  #left: number
  #hasBegun = false
  #failure: { readonly reason: unknown } | null = null
  #interrupt: (reason: unknown) => void = () => {}
  #closed: Promise<void> | undefined

  constructor(source: AsyncIterable<Uint8Array>, { skipped, length, copies, onClose }: ContentOfReadOptions) {
    this.#source = source[Symbol.asyncIterator]()
    this.#skipped = skipped
    this.#left = length
    this.#copies = copies
    this.#onClose = onClose
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure.reason)
      this.#interrupt = reject
      this.#next().then(resolve, (error) => this.fail(driverError(error)))
    })
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#close()
    return { done: true, value: undefined }
  }

  /** Ends the content with an error. Only the first one counts. Resolves when the driver's content is closed. */
  fail(reason: unknown): Promise<void> {
    this.#failure ??= { reason }
    this.#interrupt(this.#failure.reason)
    return this.#close()
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#left > 0 && this.#closed === undefined) {
      this.#hasBegun = true
      const step = await this.#source.next()
      if (step.done) throw endedEarly()
      const chunk = step.value.subarray(this.#skipped, this.#skipped + this.#left)
      this.#skipped -= Math.min(this.#skipped, step.value.length)
      this.#left -= chunk.length
      if (chunk.length > 0) return { done: false, value: this.#copies ? new Uint8Array(chunk) : chunk }
    }
    await this.#close()
    return { done: true, value: undefined }
  }

  #close(): Promise<void> {
    this.#closed ??= this.#closeSource()
    return this.#closed
  }

  async #closeSource(): Promise<void> {
    try {
      // A generator that has not begun does not run its `finally`.
      if (!this.#hasBegun) await this.#source.next()
      await this.#source.return?.()
    } catch {
      // Nobody needs these bytes.
    } finally {
      this.#onClose()
    }
  }
}

/** Returns the first byte and the number of bytes of a range; null if it is not within the file. */
export function rangeOf(size: number, start?: number, end?: number) {
  if (start === undefined && end === undefined) return { first: 0, length: size }
  const [first, last] = [start ?? 0, end ?? size - 1]
  const isRange =
    Number.isInteger(first) && Number.isInteger(last) && first >= 0 && first <= last && last < size
  return isRange ? { first, length: last - first + 1 } : null
}

export function refusedRange({ type, size }: StorageEntry): NodekeepError {
  return type === 'directory'
    ? conflict('This is a folder. Read the files in it, or list it.')
    : new NodekeepError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes. Ask for a range within it.`)
}

/** Cuts the requested bytes out of those of a driver. */
export function rangeOfBytes(bytes: Uint8Array, skipped: number, length: number): Uint8Array {
  if (skipped < 0) throw startsTooLate()
  if (bytes.length < skipped + length) throw endedEarly()
  return bytes.subarray(skipped, skipped + length)
}

/** The largest chunk of a content that is in memory, in bytes. */
const maxChunk = 256 * 1024

/** The content of a read whose bytes are all in memory. Each of the signals ends it before the next chunk. */
export class ContentOfBytes implements AsyncIterableIterator<Uint8Array> {
  readonly #signals: readonly AbortSignal[]
  /** The bytes that are still to come; null at the end. */
  #rest: Uint8Array | null

  constructor(bytes: Uint8Array, signals: readonly AbortSignal[]) {
    this.#rest = bytes
    this.#signals = signals
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const rest = this.#rest
    this.#rest = null
    if (rest === null) return { done: true, value: undefined }
    for (const signal of this.#signals) signal.throwIfAborted()
    if (rest.length === 0) return { done: true, value: undefined }
    if (rest.length > maxChunk) this.#rest = rest.subarray(maxChunk)
    return { done: false, value: rest.subarray(0, maxChunk) }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#rest = null
    return { done: true, value: undefined }
  }
}

/** The fault of a driver that leaves out the first requested bytes. */
export function startsTooLate(): NodekeepError {
  return driverError(new Error('The driver began after the first requested byte.'))
}

function endedEarly(): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The storage ended the file before its end. Try again later.',
  )
}
