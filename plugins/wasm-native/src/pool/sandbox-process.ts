import type { FrameReader } from '../protocol/frame-reader.ts'
import { FrameSplitter } from '../protocol/frame-splitter.ts'
import { FrameWriter } from '../protocol/frame-writer.ts'
import { largestAnswer } from '../protocol/messages.ts'
import { yieldToOthers } from './process-figures.ts'
import { type SandboxChild, spawnSandbox } from './spawn-sandbox.ts'

/** Characters of what a process complains on its standard error that are kept: the end says why it died. */
const keptComplaint = 4096

/** What is heard of a process. Times are those of `performance.now()`. */
export interface ProcessListener {
  /** An answer came; its bytes are good until this returns. */
  answer(frame: FrameReader, now: number): void
  /** Frames are on their way. */
  sent(now: number): void
  ended(): void
}

/** The process of a sandbox, and the pipes to it. */
export class SandboxProcess {
  /** What is to be sent. */
  readonly frames = new FrameWriter()
  /** How it ended, for the log; null while it runs. */
  exit: string | null = null
  complaint = ''
  readonly #child: SandboxChild
  readonly #listener: ProcessListener
  #scheduled = false

  constructor(memoryBytes: number, listener: ProcessListener) {
    this.#listener = listener
    this.#child = spawnSandbox(memoryBytes)
    yieldToOthers(this.pid, false)
    this.#listen()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Sends the frames together with what else is written in this turn of the event loop. */
  sendSoon(): void {
    if (!this.#scheduled) process.nextTick(() => this.send())
    this.#scheduled = true
  }

  /** @param bytes belong to the last frame */
  send(bytes?: Uint8Array): void {
    this.#scheduled = false
    if (this.frames.empty || this.exit !== null) return
    this.#child.stdin.write(this.frames.take())
    if (bytes !== undefined) this.#child.stdin.write(bytes)
    this.#listener.sent(performance.now())
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #listen(): void {
    const child = this.#child
    const splitter = new FrameSplitter(largestAnswer)
    child.stdout.on('data', (chunk: Buffer) => {
      const now = performance.now()
      try {
        splitter.push(chunk, (frame) => this.#listener.answer(frame, now))
      } catch (error) {
        // Whoever answers what nobody understands is not to be trusted any more.
        this.complaint += String(error)
        this.kill()
      }
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-keptComplaint)
    })
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    child.on('error', (error) => this.#end(error.message))
    child.on('close', (code, signal) => this.#end(signal ?? `exit code ${code}`))
  }

  #end(how: string): void {
    if (this.exit !== null) return
    this.exit = how
    this.#listener.ended()
  }
}
