import { Worker } from 'node:worker_threads'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { FromWriter, NumberedRequest, WriteAnswer, WriteRequest, WriterSettings } from './protocol.ts'

interface Call {
  resolve(seq: number): void
  reject(error: unknown): void
}

/** The way to the thread that writes. */
export class JournalWriter {
  readonly #thread: Worker
  readonly #ended: Promise<void>
  readonly #calls = new Map<number, Call>()
  #batch: NumberedRequest[] = []
  #lastId = 0
  #gone: NodekeepError | null = null

  /** @throws Error with one line for a person when the file cannot be opened */
  static async start(settings: WriterSettings): Promise<JournalWriter> {
    // From sources this file is TypeScript, and so is the other one.
    const file = new URL(
      import.meta.url.endsWith('.ts') ? 'writer-thread.ts' : 'writer-thread.js',
      import.meta.url,
    )
    // The thread imports its own files and nothing else: what the process was told to load only makes it late.
    const thread = new Worker(file, { workerData: settings, execArgv: [], name: 'journal of files' })
    const opened = await new Promise<FromWriter>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', () =>
        reject(new Error('The thread that writes the journal of files ended at once.')),
      )
    })
    if ('opened' in opened && !opened.opened) throw new Error(opened.message)
    return new JournalWriter(thread)
  }

  private constructor(thread: Worker) {
    this.#thread = thread
    this.#ended = new Promise((resolve) => thread.once('exit', () => resolve()))
    thread.on('message', (answers: readonly WriteAnswer[]) => this.#settle(answers))
    thread.on('error', (error) => this.#give(unavailable('cannot be written any more', error)))
    thread.on('exit', () => this.#give(unavailable('is closed')))
    // A journal that nobody calls keeps no process alive.
    thread.unref()
  }

  /**
   * Asks the thread. Calls of the same moment go there together.
   *
   * @returns the sequence number of `begin`, 0 for others
   */
  call(request: WriteRequest): Promise<number> {
    if (this.#gone !== null) return Promise.reject(this.#gone)
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      if (this.#calls.size === 0) this.#thread.ref()
      this.#calls.set(this.#lastId, { resolve, reject })
      this.#batch.push({ id: this.#lastId, request })
      if (this.#batch.length === 1) queueMicrotask(() => this.#send())
    })
  }

  /** Refuses new calls and waits for the end of the running ones. Calling it again waits too. */
  async close(): Promise<void> {
    this.#gone ??= unavailable('is closed')
    this.#thread.ref()
    this.#send()
    this.#thread.postMessage('close')
    await this.#ended
  }

  #send(): void {
    const batch = this.#batch
    this.#batch = []
    if (batch.length === 0) return
    try {
      this.#thread.postMessage(batch)
    } catch (error) {
      // Something in an intent that cannot go to another thread. Nobody above would catch it here.
      const failure = { code: 'SERVICE_UNAVAILABLE', reason: String(error) } as const
      this.#settle(batch.map(({ id }) => ({ id, seq: 0, failure })))
    }
  }

  #settle(answers: readonly WriteAnswer[]): void {
    for (const { id, seq, failure } of answers) {
      const call = this.#calls.get(id)
      this.#calls.delete(id)
      if (failure === undefined) call?.resolve(seq)
      else if (failure.code === 'INSUFFICIENT_STORAGE') call?.reject(diskFull(failure.reason))
      else call?.reject(unavailable('cannot be written', failure.reason))
    }
    if (this.#calls.size === 0 && this.#gone === null) this.#thread.unref()
  }

  /** Nothing waits for a thread that has ended. */
  #give(error: NodekeepError): void {
    this.#gone ??= error
    for (const { reject } of this.#calls.values()) reject(this.#gone)
    this.#calls.clear()
  }
}

function unavailable(state: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', `The journal of files ${state}. Start the node again.`, {
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
