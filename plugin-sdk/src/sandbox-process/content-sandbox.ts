import { linkSignals } from '../concurrency/linked-signal.ts'
import { withTimeLimit } from '../concurrency/time-limit.ts'
import { untilAborted } from '../concurrency/until-aborted.ts'
import type { ContentSource } from '../content-source.ts'
import type { Log } from '../context.ts'
import { ContentProcess } from './content-process.ts'
import { type ContentAnswer, type ContentLimits, ContentRun } from './content-run.ts'
import { OrphanGuard } from './orphan-guard.ts'
import { runtimeStopped, sandboxEnded } from './run-failures.ts'
import type { SandboxProcessOptions } from './sandbox-process.ts'

/** Options of a ContentSandbox. The program `main` calls `serveContents` of `@nodekeep/plugin-sdk/sandbox-content`. */
export interface ContentSandboxOptions extends SandboxProcessOptions, ContentLimits {
  /** Milliseconds without a content after which the process ends. The next content starts another one. */
  readonly idleMs: number
  readonly log: Log
}

/** How a content is decoded. */
export interface ContentRunOptions {
  /** Ends the wait, and the decoding with its process. */
  readonly signal?: AbortSignal
  /** Whether the content goes before those that wait without it, because somebody waits for it. Default: `false`. */
  readonly first?: boolean
}

/** Longest time until a process has started, and has collected its garbage after an answer, in milliseconds. */
const readyTimeoutMs = 30_000
/** Most bytes of a content: its frame has 32 bits for them. */
const mostContentBytes = 2 ** 32 - 1

/**
 * Decodes contents that may be hostile, such as pictures and documents of users, in a `SandboxProcess`, one at a time. The
 * process starts with the first content. It is replaced after a content that reached a limit or that ended it, and before a
 * content if it kept more than half of `memoryBytes` from earlier ones. After a refusal it goes on.
 *
 * @example
 * const sandbox = new ContentSandbox({
 *   main: new URL('./sandbox/main.js', import.meta.url),
 *   heapBytes: 64 * 2 ** 20,
 *   openFiles: 64,
 *   memoryBytes: 256 * 2 ** 20,
 *   timeoutMs: 10_000,
 *   idleMs: 60_000,
 *   largestAnswer: 2 ** 20,
 *   log,
 * })
 * onStop(() => sandbox.stop())
 * const { entry, content } = await files.read('/notes.txt')
 * const { answer } = await sandbox.run({ wanted: 'lines' }, { size: entry.size, bytes: content })
 */
export class ContentSandbox {
  readonly #options: ContentSandboxOptions
  readonly #guard: OrphanGuard
  readonly #stop = new AbortController()
  /** Runs that wait for their turn. */
  readonly #waiting: Record<'first' | 'others', (() => void)[]> = { first: [], others: [] }
  #hasRun = false
  /** The last process that was started, until it has ended. */
  #process: ContentProcess | null = null
  #idle: NodeJS.Timeout | undefined

  constructor(options: ContentSandboxOptions) {
    this.#options = options
    this.#guard = new OrphanGuard(options.log)
  }

  /**
   * Decodes a content. Contents wait for one another, in the order in which they come. The bytes are read when it is
   * their turn.
   *
   * @param order a JSON value for the program
   * @param content at most 4 GiB. The program has all of it in memory, so `memoryBytes` bounds it too
   * @throws ContentFailure if the content is at fault; NodekeepError SERVICE_UNAVAILABLE if the process does not start or dies before
   * it has the whole content, and if the sandbox stops; CONFLICT if the content has another size than it says; the reason of the
   * signal; and what the content throws
   */
  async run(
    order: unknown,
    content: ContentSource,
    { signal, first = false }: ContentRunOptions = {},
  ): Promise<ContentAnswer> {
    if (!(content.size >= 0 && content.size <= mostContentBytes)) {
      throw new RangeError(`A content has from 0 to ${mostContentBytes} bytes, and not ${content.size}.`)
    }
    const stop = this.#stop.signal
    using linked = linkSignals(...(signal === undefined ? [stop] : [signal, stop]))
    linked.signal.throwIfAborted()
    await this.#turn(first ? 'first' : 'others', linked.signal)
    try {
      return await this.#decode(order, content, linked.signal)
    } finally {
      this.#giveTurn()
    }
  }

  /** Ends the process. Contents that have no answer yet fail. */
  async stop(): Promise<void> {
    clearTimeout(this.#idle)
    this.#stop.abort(runtimeStopped())
    this.#process?.kill()
    await this.#process?.ended
    await this.#guard.stop()
  }

  async #turn(line: 'first' | 'others', signal: AbortSignal): Promise<void> {
    clearTimeout(this.#idle)
    if (!this.#hasRun) {
      this.#hasRun = true
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting[line].push(resolve)
    try {
      await untilAborted(promise, signal)
    } catch (error) {
      const at = this.#waiting[line].indexOf(resolve)
      // The turn may have come in the moment of the abort.
      if (at >= 0) this.#waiting[line].splice(at, 1)
      else this.#giveTurn()
      throw error
    }
  }

  /** Lets the next one run. */
  #giveTurn(): void {
    const next = this.#waiting.first.shift() ?? this.#waiting.others.shift()
    if (next !== undefined) {
      next()
      return
    }
    this.#hasRun = false
    if (this.#stop.signal.aborted) return
    this.#idle = setTimeout(() => this.#process?.kill(), this.#options.idleMs).unref()
  }

  async #decode(order: unknown, content: ContentSource, signal: AbortSignal): Promise<ContentAnswer> {
    const process = await this.#readyProcess(signal)
    try {
      return await new ContentRun(process, this.#options).decode(order, content, signal)
    } finally {
      if (process.isBusy) process.kill()
    }
  }

  async #readyProcess(signal: AbortSignal): Promise<ContentProcess> {
    const last = this.#process
    if (last !== null) {
      if (await this.#canGoOn(last, signal)) return last
      last.kill()
      // It is gone before another one starts, so that there are never two with so much memory.
      await untilAborted(last.ended, signal)
    }
    signal.throwIfAborted()
    const process = this.#start()
    if (await isReady(process, signal)) return process
    process.kill()
    throw sandboxEnded(process.ending ?? 'It was not ready in time')
  }

  /** Whether a process, which may have decoded other contents, is fit for the next one. */
  async #canGoOn(process: ContentProcess, signal: AbortSignal): Promise<boolean> {
    if (process.isEnding || !(await isReady(process, signal))) return false
    return process.residentBytes <= this.#options.memoryBytes / 2
  }

  #start(): ContentProcess {
    const { flags = [], ...options } = this.#options
    // The program collects its garbage between contents.
    const process = new ContentProcess({ ...options, flags: ['--expose-gc', ...flags] }, options.log)
    this.#process = process
    this.#guard.add(process.pid)
    void process.ended.then(() => {
      this.#guard.drop(process.pid)
      if (this.#process === process) this.#process = null
    })
    return process
  }
}

async function isReady(process: ContentProcess, signal: AbortSignal): Promise<boolean> {
  const late = new Error()
  return withTimeLimit(process.ready, readyTimeoutMs, late, signal).catch((error: unknown) => {
    if (error === late) return false
    throw error
  })
}
