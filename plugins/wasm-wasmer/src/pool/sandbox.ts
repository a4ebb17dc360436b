import { EventEmitter } from 'node:events'
import { extname } from 'node:path'
import { type Frame, FrameCollector, frameHead } from '@nodekeep/plugin-sdk/sandbox-frames'
import { SandboxProcess } from '@nodekeep/plugin-sdk/sandbox-process'
import type { RunRequest, SandboxMessage } from '../protocol/messages.ts'

/** Whether a sandbox is started for a waiting run, or as a spare. A spare warms itself up first. */
export type SandboxPurpose = 'run' | 'spare'

/** Events of a sandbox. */
interface SandboxEvents {
  ready: []
  message: [message: SandboxMessage, body: Buffer]
  ended: []
}

const mebibyte = 2 ** 20
const pageBytes = 65_536
/** Memory of a table's element. */
const elementBytes = 32
/** Memory of the SDK itself: of its own WebAssembly memory, and of its objects on V8's heap. */
const sdkBytes = 64 * mebibyte
/** Open files also bound the number of threads, since each thread has some. */
const openFiles = 256
/** Most bytes of a message before there is a run. */
const longestGreeting = 1024

/** A process for one run. */
export class Sandbox extends EventEmitter<SandboxEvents> {
  readonly memoryBytes: number
  readonly process: SandboxProcess
  isReady = false
  /** Bytes in RAM when the sandbox was ready. */
  #baseBytes = 0
  readonly #frames = new FrameCollector()

  constructor(memoryBytes: number, purpose: SandboxPurpose) {
    super()
    this.memoryBytes = memoryBytes
    this.#frames.largest = longestGreeting
    this.process = startProcess(memoryBytes, purpose, {
      data: (chunk) => {
        for (const frame of this.#frames.push(chunk)) this.#hear(frame)
      },
      ended: () => this.emit('ended'),
    })
  }

  /** Bytes in RAM beyond those when the sandbox was ready; 0 where that is not known. */
  get grownBytes(): number {
    return this.process.residentBytes - this.#baseBytes
  }

  /** @param largestAnswer most bytes of an answer */
  send(request: RunRequest, body: readonly Uint8Array[], largestAnswer: number): void {
    this.#frames.largest = largestAnswer
    const bodyBytes = body.reduce((sum, { length }) => sum + length, 0)
    this.process.input.write(frameHead(request, bodyBytes))
    for (const part of body) if (part.length > 0) this.process.input.write(part)
  }

  #hear({ header, body }: Frame): void {
    const message = header as SandboxMessage
    if (message.kind !== 'ready') {
      this.emit('message', message, body)
      return
    }
    this.isReady = true
    this.#baseBytes = this.process.residentBytes
    this.emit('ready')
  }
}

/** Starts a process that may read its own files and the SDK's, and may have threads. */
export function startProcess(
  memoryBytes: number,
  purpose: SandboxPurpose,
  listener: ConstructorParameters<typeof SandboxProcess>[1],
): SandboxProcess {
  const sdk = import.meta.resolve('#wasmer-sdk')
  const largest = Math.max(memoryBytes, sdkBytes)
  return new SandboxProcess(
    {
      main: new URL(`../sandbox/main${extname(import.meta.url)}`, import.meta.url),
      args: [sdk, purpose],
      readable: [
        new URL('../protocol/', import.meta.url),
        ...['./', '../pkg/'].map((folder) => new URL(folder, sdk)),
      ],
      heapBytes: sdkBytes + memoryBytes,
      openFiles,
      flags: [
        '--allow-worker',
        '--disable-warning=PERM0006',
        `--wasm-max-mem-pages=${Math.ceil(largest / pageBytes)}`,
        `--wasm-max-table-size=${Math.ceil(largest / elementBytes)}`,
        // See "A program of `wasm-wasmer`" in MEMORY.md.
        '--initial-old-space-size=32',
        '--min-semi-space-size=8',
      ],
    },
    listener,
  )
}
