import {
  NodekeepError,
  type WasmLimits,
  WasmProgramError,
  type WasmProgramOutput,
} from '@nodekeep/plugin-sdk'
import {
  memoryLimitReached,
  runtimeStopped,
  sandboxEnded,
  timeLimitReached,
} from '@nodekeep/plugin-sdk/sandbox-process'
import {
  type OutputStream,
  outputPieceBytes,
  type RunRequest,
  type SandboxMessage,
} from '../protocol/messages.ts'
import type { Sandbox } from './sandbox.ts'

/** How a program ended, as its sandbox says. */
type EndedMessage = Extract<SandboxMessage, { kind: 'ended' }>

/** How a program ended, with its output, and the bytes of its changes. */
export interface RunResult {
  readonly ending: EndedMessage
  readonly body: Buffer
  readonly output: WasmProgramOutput
}

/** Interval between two checks of a run's memory, in milliseconds. */
const checkEveryMs = 10
/** Longest time until a sandbox is ready, in milliseconds. */
const startTimeoutMs = 60_000
/** Memory that the SDK takes for a program beside the program's own, above all for threads. */
const ownBytes = 128 * 2 ** 20
/** Copies of the request that are in memory for a moment: as it came, in the SDK, and compiled. */
const copies = 4
/** Most bytes of an entry in an answer: a name of 255 bytes, of which JSON makes six times as many, and its surroundings. */
const entryBytes = 2048
/** Most bytes of a message beside output, files and entries. */
const otherBytes = 8192

/** One run in a sandbox, from the request to the end of the process. */
export class Run {
  readonly result: Promise<RunResult>
  readonly #sandbox: Sandbox
  readonly #limits: WasmLimits
  readonly #outcome = Promise.withResolvers<RunResult>()
  readonly #output: Record<OutputStream, Buffer[]> = { stdout: [], stderr: [] }
  /** Bytes that the program may still write. */
  #outputLeft: number
  #isOver = false
  #began = false
  #timeout: NodeJS.Timeout | undefined
  #checks: NodeJS.Timeout | undefined

  constructor(
    sandbox: Sandbox,
    request: RunRequest,
    body: readonly Uint8Array[],
    limits: WasmLimits,
    signal: AbortSignal,
  ) {
    this.#sandbox = sandbox
    this.#limits = limits
    this.#outputLeft = limits.outputBytes
    const abort = () => this.#outcome.reject(signal.reason)
    this.result = this.#outcome.promise.finally(() => {
      signal.removeEventListener('abort', abort)
      this.#isOver = true
      clearTimeout(this.#timeout)
      clearInterval(this.#checks)
      sandbox.process.kill()
    })
    sandbox.once('ended', () => this.#fail(this.#causeOfExit()))
    sandbox.on('message', (message, bytes) => this.#hear(message, bytes))
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else if (sandbox.isReady) this.#begin(request, body)
    else {
      this.#failAfter(startTimeoutMs, () => sandboxEnded('It was not ready in time'))
      sandbox.once('ready', () => this.#begin(request, body))
    }
  }

  stop(): void {
    this.#fail(runtimeStopped())
  }

  /** Fails with a limit or a trap, and what the program wrote until then, or with a failure of the sandbox. */
  #fail(reason: NodekeepError): void {
    const { code, message } = reason
    if (code !== 'UNPROCESSABLE') this.#outcome.reject(reason)
    else this.#outcome.reject(new WasmProgramError(code, message, this.#written()))
  }

  #written(): WasmProgramOutput {
    const { stdout, stderr } = this.#output
    return { stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) }
  }

  #collect(stream: OutputStream, bytes: Buffer): void {
    // A copy: the memory of a message is that of a larger chunk.
    this.#output[stream].push(Buffer.from(bytes.subarray(0, this.#outputLeft)))
    if (bytes.length > this.#outputLeft) this.#fail(outputLimitReached(this.#limits))
    this.#outputLeft -= Math.min(bytes.length, this.#outputLeft)
  }

  /** Compiling the program has the time limit, and then running it has it again. Starting a process counts for neither. */
  #begin(request: RunRequest, body: readonly Uint8Array[]): void {
    clearTimeout(this.#timeout)
    if (this.#isOver) return
    this.#failAfter(this.#limits.timeoutMs, () => timeLimitReached(this.#limits))
    const allowed = allowedGrowth(request, body, this.#limits)
    this.#checks = setInterval(() => {
      if (this.#sandbox.grownBytes > allowed) this.#fail(memoryLimitReached(this.#limits))
    }, checkEveryMs)
    this.#sandbox.send(request, body, largestMessage(request))
  }

  #failAfter(ms: number, reason: () => NodekeepError): void {
    clearTimeout(this.#timeout)
    // Messages that have arrived are read first: the node itself may have been late.
    this.#timeout = setTimeout(() => setImmediate(() => this.#isOver || this.#fail(reason())), ms)
  }

  #hear(message: SandboxMessage, body: Buffer): void {
    if (this.#isOver) return
    if (message.kind === 'began' && !this.#began) {
      this.#began = true
      this.#failAfter(this.#limits.timeoutMs, () => timeLimitReached(this.#limits))
    } else if (message.kind === 'ended') {
      this.#outcome.resolve({ ending: message, body, output: this.#written() })
    } else if (message.kind === 'stdout' || message.kind === 'stderr') this.#collect(message.kind, body)
    else if (message.kind === 'failed') this.#fail(new NodekeepError(message.code, message.message))
    else if (message.kind === 'out-of-memory') this.#fail(memoryLimitReached(this.#limits))
  }

  #causeOfExit(): NodekeepError {
    const { ranOutOfMemory, exit, stderrTail } = this.#sandbox.process
    return ranOutOfMemory ? memoryLimitReached(this.#limits) : sandboxEnded(`${exit} ${stderrTail}`)
  }
}

/** Bytes that a sandbox may grow by during a run. */
function allowedGrowth(
  { folders, limits }: RunRequest,
  body: readonly Uint8Array[],
  { memoryBytes, outputBytes }: WasmLimits,
): number {
  const sent = body.reduce((sum, { length }) => sum + length, 0)
  const stored = folders.some(({ writable }) => writable) ? limits.folderBytes : 0
  return memoryBytes + ownBytes + copies * (sent + stored + outputBytes)
}

function outputLimitReached({ outputBytes }: WasmLimits): NodekeepError {
  const kibibytes = Math.floor(outputBytes / 1024)
  return new NodekeepError('UNPROCESSABLE', `The output limit of ${kibibytes} KiB was reached.`)
}

/** Most bytes of a message of a sandbox. */
function largestMessage({ folders, limits }: RunRequest): number {
  const stored = folders.some(({ writable }) => writable)
    ? limits.folderBytes + limits.folderEntries * entryBytes
    : 0
  // All entries that were there may be gone, and their numbers be named as well.
  return otherBytes + Math.max(outputPieceBytes, stored * 2)
}
