import { Worker } from 'node:worker_threads'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { lastingThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { FromWriter, NumberedRequest, WriteAnswer, WriteRequest, WriterSettings } from './protocol.ts'

interface Call {
  readonly id: number
  resolve(seq: number): void
  reject(error: unknown): void
}

/** Sends requests to the writer thread, and hands its answers back. */
export class JournalWriter {
  readonly #thread: Worker
  readonly #exit: Promise<void>
  // In the order of the answers. No `Map`: MEMORY.md, "Tables".
  readonly #calls: Call[] = []
  #batch: NumberedRequest[] = []
  #lastId = 0
  #closedBy: NodekeepError | null = null

  /** @throws Error with one line for a person when the file cannot be opened */
  static async start(settings: WriterSettings): Promise<JournalWriter> {
    const file = moduleBeside(import.meta.url, 'writer-thread')
    const thread = new Worker(file, { ...lastingThread, workerData: settings, name: 'journal of files' })
    const opened = await new Promise<FromWriter>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', () =>
        reject(new Error('The thread that writes the journal of files ended before it opened the file.')),
      )
    })
    if ('opened' in opened && !opened.opened) throw new Error(opened.message)
    return new JournalWriter(thread)
  }

  private constructor(thread: Worker) {
    this.#thread = thread
    this.#exit = new Promise((resolve) => thread.once('exit', () => resolve()))
    thread.on('message', (answers: readonly WriteAnswer[]) => this.#deliver(answers))
    thread.on('error', (error) => this.#rejectAll(unavailable('can no longer be written', error)))
    thread.on('exit', () => this.#rejectAll(unavailable('is closed')))
    // An idle journal keeps no process alive.
    thread.unref()
  }

  /**
   * Sends a request. Requests of the same turn of the event loop go in one message.
   *
   * @returns the sequence number of `begin`, the last one of `add`, 0 for others
   */
  call(request: WriteRequest): Promise<number> {
    if (this.#closedBy !== null) return Promise.reject(this.#closedBy)
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      if (this.#calls.length === 0) this.#thread.ref()
      this.#calls.push({ id: this.#lastId, resolve, reject })
      this.#batch.push({ id: this.#lastId, request })
      if (this.#batch.length === 1) queueMicrotask(() => this.#send())
    })
  }

  /** Lets the thread delete old changes, now and every hour. */
  prune(): void {
    this.#thread.postMessage('prune')
  }

  /** Refuses new requests and waits for the running ones. A second call waits too. */
  async close(): Promise<void> {
    this.#closedBy ??= unavailable('is closed')
    this.#thread.ref()
    this.#send()
    this.#thread.postMessage('close')
    await this.#exit
  }

  #send(): void {
    const batch = this.#batch
    this.#batch = []
    if (batch.length === 0) return
    try {
      this.#thread.postMessage(batch)
    } catch (error) {
      // An intent holds something that cannot be cloned. No caller would catch the error of this microtask.
      const failure = { code: 'SERVICE_UNAVAILABLE', reason: String(error) } as const
      this.#deliver(batch.map(({ id }) => ({ id, seq: 0, failure })))
    }
  }

  #deliver(answers: readonly WriteAnswer[]): void {
    for (const { id, seq, failure } of answers) {
      const place = this.#calls.findIndex((call) => call.id === id)
      if (place === -1) continue
      const [call] = this.#calls.splice(place, 1)
      if (failure === undefined) call?.resolve(seq)
      else if (failure.code === 'INSUFFICIENT_STORAGE') call?.reject(diskFull(failure.reason))
      else call?.reject(unavailable('cannot be written', failure.reason))
    }
    if (this.#calls.length === 0 && this.#closedBy === null) this.#thread.unref()
  }

  /** Rejects the open requests of a thread that has ended. */
  #rejectAll(error: NodekeepError): void {
    this.#closedBy ??= error
    for (const { reject } of this.#calls) reject(this.#closedBy)
    this.#calls.length = 0
  }
}

function unavailable(state: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', `The journal of files ${state}. Restart the node.`, {
    cause,
  })
}

function diskFull(cause: unknown): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk that holds the journal of files is full. Free some space and try again.',
    { cause },
  )
}
