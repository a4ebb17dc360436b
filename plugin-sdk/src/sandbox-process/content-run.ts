import type { ContentSource } from '../content-source.ts'
import { conflict } from '../errors.ts'
import { ContentFailure, type ContentFailureReason } from './content-failure.ts'
import type { ContentProcess } from './content-process.ts'
import { type ContentMessage, longestCause, longestMessage } from './inside/content-messages.ts'
import { BodyReader } from './inside/sandbox-frames.ts'
import { sandboxEnded } from './run-failures.ts'

/** The answer of a program in a sandbox. It may come from hostile code, so check it. */
export interface ContentAnswer {
  /** A JSON value. */
  readonly answer: unknown
  readonly parts: readonly Uint8Array[]
}

/** Bounds of decoding one content. */
export interface ContentLimits {
  /**
   * Most bytes of the process in RAM while it has a content, the content included. They are checked 20 times a second, on Linux
   * only. V8's heap has a bound of its own, `heapBytes`, and so have WebAssembly memories with the flag `--wasm-max-mem-pages`.
   */
  readonly memoryBytes: number
  /** Most milliseconds from when the program has the whole content to its answer. */
  readonly timeoutMs: number
  /** Most bytes of an answer, as JSON, together with its parts. */
  readonly largestAnswer: number
}

/** Interval between two checks of the memory, in milliseconds. */
const checkEveryMs = 50

/** Decodes one content in a process that has started. Afterwards, the process is still busy if it is not fit for another one. */
export class ContentRun {
  readonly #process: ContentProcess
  readonly #limits: ContentLimits
  readonly #outcome = Promise.withResolvers<ContentAnswer>()
  #isOver = false
  #isHandedOver = false
  /** Whether the program has the whole content. */
  #began = false
  #timeout: NodeJS.Timeout | undefined

  constructor(process: ContentProcess, limits: ContentLimits) {
    this.#process = process
    this.#limits = limits
  }

  /** @throws as `ContentSandbox.run` says */
  async decode(order: unknown, content: ContentSource, signal: AbortSignal): Promise<ContentAnswer> {
    const abort = () => this.#outcome.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#process.listener = {
      receive: (message, body) => this.#receive(message, body),
      ended: () => this.#outcome.reject(this.#causeOfEnd()),
    }
    const checks = setInterval(() => this.#checkMemory(), checkEveryMs)
    if (signal.aborted) abort()
    else if (this.#process.ending !== null) this.#process.listener.ended()
    else this.#handOver(order, content).catch(this.#outcome.reject)
    try {
      return await this.#outcome.promise
    } finally {
      this.#isOver = true
      clearInterval(checks)
      clearTimeout(this.#timeout)
      this.#process.listener = null
      signal.removeEventListener('abort', abort)
    }
  }

  async #handOver(order: unknown, { size, bytes }: ContentSource): Promise<void> {
    const begin = () => this.#inTime(this.#process.begin({ order }, size, this.#limits.largestAnswer))
    const write = (chunk: Uint8Array) => this.#inTime(this.#process.write(chunk))
    let sent = 0
    // The last chunk is held back until the content has ended: the program may answer before the node hears that it was written.
    let held: Uint8Array | null = null
    for await (const chunk of bytes) {
      if (this.#isOver) return
      if (chunk.length === 0) continue
      sent += chunk.length
      if (sent > size) throw contentChanged()
      // Not before: a content that cannot be opened costs no process.
      await (held === null ? begin() : write(held))
      if (this.#isOver) return
      held = chunk
    }
    if (this.#isOver) return
    if (sent !== size) throw contentChanged()
    this.#isHandedOver = true
    await (held === null ? begin() : write(held))
    if (!this.#began) this.#failAfter(this.#limits.timeoutMs, () => sandboxEnded('It did not begin in time'))
  }

  /** A program that does not read is at fault, and not the content. */
  async #inTime(written: Promise<void>): Promise<void> {
    this.#failAfter(this.#limits.timeoutMs, () => sandboxEnded('It did not read the content in time'))
    await written
    if (!this.#began) clearTimeout(this.#timeout)
  }

  #failAfter(ms: number, reason: () => Error): void {
    clearTimeout(this.#timeout)
    if (this.#isOver) return
    // Messages that have arrived are read first: the node itself may have been late.
    this.#timeout = setTimeout(() => setImmediate(() => this.#isOver || this.#outcome.reject(reason())), ms)
  }

  #receive(message: ContentMessage, body: Buffer): void {
    if (message.kind === 'began' && this.#isHandedOver && !this.#began) {
      this.#began = true
      this.#failAfter(this.#limits.timeoutMs, () => contentFailure('time', this.#limits))
    } else if (message.kind === 'answer' && this.#began) {
      const reader = new BodyReader(body)
      this.#outcome.resolve({ answer: message.answer, parts: message.parts.map((size) => reader.take(size)) })
    } else if (message.kind === 'refused' && this.#began) {
      const cause = new Error(String(message.cause).slice(0, longestCause))
      this.#outcome.reject(new ContentFailure('refused', readableMessage(message.message), cause))
    } else throw new RangeError('A message is unknown or came too soon.')
  }

  #checkMemory(): void {
    if (this.#process.isBusy && this.#process.residentBytes > this.#limits.memoryBytes) {
      this.#outcome.reject(contentFailure('memory', this.#limits))
    }
  }

  #causeOfEnd(): Error {
    const { ranOutOfMemory, ending } = this.#process
    if (!this.#began) return sandboxEnded(ending)
    return contentFailure(ranOutOfMemory ? 'memory' : 'ended', this.#limits, new Error(ending ?? ''))
  }
}

/** Returns a message that may come from hostile code as a sentence for people. */
function readableMessage(message: unknown): string {
  const text = typeof message === 'string' ? message.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim() : ''
  return [...text].slice(0, longestMessage).join('') || 'The content cannot be decoded.'
}

function contentFailure(
  reason: Exclude<ContentFailureReason, 'refused'>,
  { timeoutMs, memoryBytes }: ContentLimits,
  cause?: Error,
): ContentFailure {
  const messages = {
    time: `The content was not decoded within ${timeoutMs} ms.`,
    memory: `Decoding the content needs more than ${Math.floor(memoryBytes / 2 ** 20)} MiB of memory.`,
    ended: 'The decoder ended because of the content.',
  }
  return new ContentFailure(reason, messages[reason], cause)
}

function contentChanged(): Error {
  return conflict('The content changed while it was read. Try again.')
}
