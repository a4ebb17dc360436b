import type { Remote } from './ports.ts'

/**
 * The answers of scans of the node. A node that was restored answers scans with older files, perhaps before the connection reports the
 * restore.
 */
export class RemoteAnswers {
  readonly #remote: Remote
  #count = 0
  /** The answers that were of the node to which this client is connected. */
  #confirmed = 0
  #confirming: Promise<void> | null = null

  constructor(remote: Remote) {
    this.#remote = remote
  }

  /** Counts an answer. */
  add(): void {
    this.#count += 1
  }

  /** Waits until it is certain that all scans were answered by the node that this client is connected to. */
  async confirm(): Promise<void> {
    const answers = this.#count
    // Steps that are made together share a ping. One that was sent before the latest scan says nothing about it.
    while (this.#confirmed < answers) {
      this.#confirming ??= this.#confirmNow().finally(() => {
        this.#confirming = null
      })
      await this.#confirming
    }
  }

  async #confirmNow(): Promise<void> {
    const answers = this.#count
    await this.#remote.confirm()
    this.#confirmed = answers
  }
}
