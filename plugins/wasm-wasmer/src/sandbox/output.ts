import { type OutputStream, outputPieceBytes, type SandboxMessage } from '../protocol/messages.ts'

/** Sends a message, with a body. */
export type Send = (message: SandboxMessage, body?: readonly Uint8Array[]) => void

/** Milliseconds that output is collected before it is sent. A program that writes single bytes would else fill the node with messages. */
const collectedMs = 5

/** Sends the output of a program while the program runs: the node may end the program at any time. */
export class Output {
  readonly #send: Send
  readonly #chunks: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] }
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(send: Send) {
    this.#send = send
  }

  /** Passes a stream on until its end. */
  async pass(stream: OutputStream, chunks: AsyncIterable<Uint8Array> | null): Promise<void> {
    for await (const chunk of chunks ?? []) {
      this.#chunks[stream].push(chunk)
      this.#bytes += chunk.length
      if (this.#bytes >= outputPieceBytes) this.flush()
      else this.#timer ??= setTimeout(() => this.flush(), collectedMs)
    }
  }

  /** Sends what was collected. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#bytes = 0
    for (const stream of ['stdout', 'stderr'] as const) {
      const bytes = Buffer.concat(this.#chunks[stream].splice(0))
      for (let start = 0; start < bytes.length; start += outputPieceBytes) {
        this.#send({ kind: stream }, [bytes.subarray(start, start + outputPieceBytes)])
      }
    }
  }
}
