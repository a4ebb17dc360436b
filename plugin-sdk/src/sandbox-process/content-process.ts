import type { Log } from '../context.ts'
import type { ContentMessage, ContentOrder } from './inside/content-messages.ts'
import { FrameCollector, frameHead } from './inside/sandbox-frames.ts'
import { SandboxProcess, type SandboxProcessOptions } from './sandbox-process.ts'

/** Hears what a process does with a content. */
interface ContentProcessListener {
  /**
   * The process sent a message about the content.
   *
   * @throws when it makes no sense: the process is killed then
   */
  receive(message: ContentMessage, body: Buffer): void
  /** The process is gone. */
  ended(): void
}

/** Most bytes of a frame when no content is in the process. */
const longestGreeting = 1024
/** Most bytes of a message beside its answer and parts: the names of its fields as JSON, or a refusal. */
const otherBytes = 64 * 1024

/** A process that decodes contents, one at a time. */
export class ContentProcess {
  readonly ended: Promise<void>
  /** Whether the process was killed, or gets no further content because it broke the rules. */
  isEnding = false
  /** Whether the process has a content, or a part of one, without an answer. */
  isBusy = false
  /** Hears about the content that is decoded. */
  listener: ContentProcessListener | null = null
  readonly #process: SandboxProcess
  readonly #frames = new FrameCollector()
  readonly #ended = Promise.withResolvers<void>()
  readonly #log: Log
  #ready = Promise.withResolvers<boolean>()
  #isReady = false
  #isEndWanted = false

  constructor(options: SandboxProcessOptions, log: Log) {
    this.ended = this.#ended.promise
    this.#log = log
    this.#frames.largest = longestGreeting
    this.#process = new SandboxProcess(options, {
      data: (chunk) => this.#read(chunk),
      ended: () => this.#end(),
    })
  }

  /** Whether the process can take a content. It is false when it ended before. */
  get ready(): Promise<boolean> {
    return this.#ready.promise
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Bytes in RAM; 0 where that is not known. */
  get residentBytes(): number {
    return this.#process.residentBytes
  }

  /** Whether the process ended because its heap was full. */
  get ranOutOfMemory(): boolean {
    return this.#process.ranOutOfMemory
  }

  /** How the process ended, for the log; null while it runs. */
  get ending(): string | null {
    const { exit, stderrTail } = this.#process
    return exit === null ? null : `${exit} ${stderrTail}`
  }

  /**
   * Begins with a content, whose bytes `write` hands over.
   *
   * @param largestAnswer most bytes of the answer with its parts
   */
  begin(order: ContentOrder, size: number, largestAnswer: number): Promise<void> {
    const head = frameHead(order, size)
    this.isBusy = true
    this.#isReady = false
    this.#ready = Promise.withResolvers()
    this.#frames.largest = largestAnswer + otherBytes
    return this.write(head)
  }

  /** Resolves when the process, or the pipe to it, has the bytes, and when the process is gone. */
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#process.input.write(bytes, () => resolve())
    })
  }

  kill(): void {
    if (!this.isEnding) this.#isEndWanted = true
    this.isEnding = true
    this.#process.kill()
  }

  #read(chunk: Buffer): void {
    try {
      for (const { header, body } of this.#frames.push(chunk)) this.#receive(header as ContentMessage, body)
    } catch (error) {
      this.isEnding = true
      throw error
    }
  }

  #receive(message: ContentMessage, body: Buffer): void {
    if (message.kind === 'ready' && !this.isBusy && !this.#isReady) {
      this.#isReady = true
      this.#ready.resolve(true)
      return
    }
    if (!this.isBusy) throw new RangeError('A message came without a content.')
    this.listener?.receive(message, body)
    if (message.kind === 'began') return
    this.isBusy = false
    this.#frames.largest = longestGreeting
  }

  #end(): void {
    if (!this.#isEndWanted) {
      const { exit, stderrTail } = this.#process
      this.#log.warn({ exit, stderrTail }, 'A sandbox ended unexpectedly. The next content gets another one.')
    }
    this.#ready.resolve(false)
    this.#ended.resolve()
    this.listener?.ended()
  }
}
