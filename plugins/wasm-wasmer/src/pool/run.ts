import type { WasmLimits } from '@nodekeep/plugin-sdk'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { RunRequest, SandboxMessage } from '../protocol/messages.ts'
import { Deadline } from './deadline.ts'
import { memoryLimitReached, runtimeStopped, sandboxDied, timeLimitReached } from './failures.ts'
import { allowedGrowth, largestAnswer } from './memory-share.ts'
import type { Sandbox } from './sandbox.ts'

/** How a program ended, as the sandbox says. */
export type EndedMessage = Extract<SandboxMessage, { kind: 'ended' }>

/** How a program ended, and the bytes that go with it. */
export interface RunResult {
  readonly ending: EndedMessage
  readonly body: Buffer
}

/** How often a sandbox at work is looked at, in milliseconds. */
const lookEveryMs = 10
/** A program that has had the processor for so many milliseconds takes long: others go first. */
const patienceMs = 1000
/** Longest time for a sandbox to be ready, in milliseconds. */
const startTimeoutMs = 60_000

/** One run in a sandbox, from sending to the end of its process. */
export class Run {
  readonly result: Promise<RunResult>
  readonly #sandbox: Sandbox
  readonly #limits: WasmLimits
  readonly #settle: PromiseWithResolvers<RunResult>
  readonly #deadline: Deadline
  #isOver = false
  #began = false
  #start: NodeJS.Timeout | undefined
  #look: NodeJS.Timeout | undefined

  constructor(
    sandbox: Sandbox,
    request: RunRequest,
    body: readonly Uint8Array[],
    limits: WasmLimits,
    signal: AbortSignal,
  ) {
    this.#sandbox = sandbox
    this.#limits = limits
    this.#settle = Promise.withResolvers()
    this.#deadline = new Deadline(sandbox, limits.timeoutMs, () => this.fail(timeLimitReached(limits)))
    const abort = () => this.fail(signal.reason)
    this.result = this.#settle.promise.finally(() => {
      signal.removeEventListener('abort', abort)
      this.#isOver = true
      this.#deadline.stop()
      clearTimeout(this.#start)
      clearInterval(this.#look)
      sandbox.kill()
    })
    sandbox.once('ended', () => this.fail(this.#causeOfDeath()))
    sandbox.on('message', (message, bytes) => this.#hear(message, bytes))
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else if (sandbox.isReady) this.#begin(request, body)
    else {
      this.#start = setTimeout(() => this.fail(sandboxDied('It was not ready in time')), startTimeoutMs)
      sandbox.once('ready', () => this.#begin(request, body))
    }
  }

  stop(): void {
    this.fail(runtimeStopped())
  }

  fail(reason: unknown): void {
    this.#settle.reject(reason)
  }

  /**
   * Compiling the program may take as long as running it, each by itself: that it takes a moment to start a process, and
   * the SDK in it, is no fault of the program's.
   */
  #begin(request: RunRequest, body: readonly Uint8Array[]): void {
    clearTimeout(this.#start)
    if (this.#isOver) return
    this.#deadline.begin()
    const allowed = allowedGrowth(request, body, this.#limits)
    let yields = false
    this.#look = setInterval(() => {
      if (!yields && this.#sandbox.usedMs > patienceMs) {
        yields = true
        this.#sandbox.yieldToOthers()
      }
      if (this.#sandbox.grownBytes > allowed) this.fail(memoryLimitReached(this.#limits))
    }, lookEveryMs)
    this.#sandbox.send(request, body, largestAnswer(request))
  }

  #hear(message: SandboxMessage, body: Buffer): void {
    if (this.#isOver) return
    if (message.kind === 'began' && !this.#began) {
      this.#began = true
      this.#deadline.begin()
    } else if (message.kind === 'ended') this.#settle.resolve({ ending: message, body })
    else if (message.kind === 'failed') this.fail(new NodekeepError(message.code, message.message))
    else if (message.kind === 'out-of-memory') this.fail(memoryLimitReached(this.#limits))
  }

  /** V8 ends its process when its heap is full, and says so. */
  #causeOfDeath(): NodekeepError {
    const { complaint, exit } = this.#sandbox
    if (/out of memory|heap limit/i.test(complaint)) return memoryLimitReached(this.#limits)
    return sandboxDied(`${exit} ${complaint}`)
  }
}
