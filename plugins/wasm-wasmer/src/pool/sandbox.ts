import { EventEmitter } from 'node:events'
import { type Frame, FrameCollector, frameHead } from '../protocol/frame.ts'
import type { RunRequest, SandboxMessage } from '../protocol/messages.ts'
import { processorMs, residentBytes, waitedMs, yieldToOthers } from './process-figures.ts'
import { type SandboxChild, type SandboxPurpose, spawnSandbox } from './spawn-sandbox.ts'

/** Characters of what a process complains on its standard error that are kept: the end says why it died. */
const keptComplaint = 4096

/** Bytes of what it says before it has something to do. */
const longestGreeting = 1024

/** What is heard of a sandbox. */
interface SandboxEvents {
  ready: []
  message: [message: SandboxMessage, body: Buffer]
  ended: []
}

/** A process for one run. */
export class Sandbox extends EventEmitter<SandboxEvents> {
  readonly memoryBytes: number
  /** How it ended, for the log; null while it runs. */
  exit: string | null = null
  complaint = ''
  isReady = false
  readonly #child: SandboxChild
  #baseBytes = 0
  #readyMs = 0
  readonly #frames = new FrameCollector()

  constructor(memoryBytes: number, purpose: SandboxPurpose) {
    super()
    this.memoryBytes = memoryBytes
    this.#child = spawnSandbox(memoryBytes, purpose)
    this.#frames.largest = longestGreeting
    this.#listen()
  }

  /** Bytes in RAM beyond those that it had when it was ready; 0 where nobody knows. */
  get grownBytes(): number {
    return (residentBytes(this.#child.pid) ?? 0) - this.#baseBytes
  }

  /** @param largestAnswer bytes */
  send(request: RunRequest, body: readonly Uint8Array[], largestAnswer: number): void {
    this.#frames.largest = largestAnswer
    const bodyBytes = body.reduce((sum, { length }) => sum + length, 0)
    this.#child.stdin.write(frameHead(request, bodyBytes))
    for (const part of body) if (part.length > 0) this.#child.stdin.write(part)
  }

  /** Milliseconds of processor time that it has used since it was ready; 0 where nobody knows. */
  get usedMs(): number {
    return (processorMs(this.#child.pid) ?? 0) - this.#readyMs
  }

  /** Milliseconds for which its threads had no processor though they wanted one; 0 where nobody knows. */
  get waitedMs(): number {
    return waitedMs(this.#child.pid) ?? 0
  }

  yieldToOthers(): void {
    yieldToOthers(this.#child.pid)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #listen(): void {
    const { stdin, stderr, stdio } = this.#child
    const [, , , answers] = stdio
    answers.on('data', (chunk: Buffer) => {
      try {
        for (const frame of this.#frames.push(chunk)) this.#hear(frame)
      } catch (error) {
        // Whoever answers what nobody understands is not to be trusted any more.
        this.complaint += String(error)
        this.kill()
      }
    })
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-keptComplaint)
    })
    for (const stream of [stdin, answers, stderr]) stream.on('error', () => {})
    this.#child.on('error', (error) => this.#end(error.message))
    this.#child.on('close', (code, signal) => this.#end(signal ?? `exit code ${code}`))
  }

  #hear({ header, body }: Frame): void {
    const message = header as SandboxMessage
    if (message.kind !== 'ready') {
      this.emit('message', message, body)
      return
    }
    this.isReady = true
    this.#baseBytes = residentBytes(this.#child.pid) ?? 0
    this.#readyMs = processorMs(this.#child.pid) ?? 0
    this.emit('ready')
  }

  #end(how: string): void {
    if (this.exit !== null) return
    this.exit = how
    this.emit('ended')
  }
}
