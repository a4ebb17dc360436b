import type { ChildProcess } from 'node:child_process'
import type { FromParent, ToParent } from './messages.ts'

/** The end of a process. */
export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The error of a process that could not be started; `null` for all others. */
  readonly error: Error | null
}

/** A node in a process of its own, as the program drives it that has spawned it with an IPC channel. */
export class ChildNode {
  /** Resolves when the process has ended, or when it could not be started. */
  readonly ended: Promise<ChildEnd>
  readonly #child: ChildProcess

  /** @param onMessage receives each message of the node */
  constructor(child: ChildProcess, onMessage: (message: ToParent) => void) {
    this.#child = child
    const { promise, resolve } = Promise.withResolvers<ChildEnd>()
    this.ended = promise
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: 1, signal: null, error })
    })
    child.on('exit', (code, signal) => resolve({ code, signal, error: null }))
    child.on('message', (message: ToParent) => onMessage(message))
  }

  /** Sends a message. Returns `false` if the node is gone. */
  send(message: FromParent): boolean {
    if (this.#child.connected) this.#child.send(message, () => {})
    return this.#child.connected
  }

  /** Closes the channel, by which a node on trial ends. */
  disconnect(): void {
    if (this.#child.connected) this.#child.disconnect()
  }

  /** Ends the node at once. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Waits for the end of a node that was asked to end. It is killed if that takes longer. */
  async endsWithin(limitMs: number): Promise<void> {
    const timer = setTimeout(() => this.kill(), limitMs)
    try {
      await this.ended
    } finally {
      clearTimeout(timer)
    }
  }
}
