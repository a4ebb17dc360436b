import { parentPort, Worker } from 'node:worker_threads'
import { NodekeepError } from '../errors.ts'

/** Pieces of a stream that are on their way to the thread. */
const mostPieces = 8

/** Work on one stream of bytes in the thread of a {@link StreamThread}. */
export interface StreamWork<Result> {
  /** Takes the next bytes. */
  add(bytes: Uint8Array): void
  /** Returns the result when all bytes were added. */
  end(): Result
}

/** Messages to the thread: a stream begins, bytes of it, it is complete, nobody wants it any more. */
type ToThread =
  | { readonly id: number; readonly order: unknown }
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly end: true }
  | { readonly id: number; readonly cancel: true }

/** Messages from the thread: one for each message with bytes, and at last the result. */
type FromThread<Result> = { readonly id: number; readonly result?: Result }

interface Job<Result> {
  /** Pieces that the thread has not taken yet. */
  pieces: number
  /** Called when the thread has taken a piece, or has ended. */
  wake: () => void
  failure: NodekeepError | null
  readonly done: PromiseWithResolvers<Result>
}

/**
 * Lets a thread of its own work on streams of bytes, such as hash them, so that requests need not wait for it. Its module calls
 * {@link workOnStreams}. Several streams arrive in turn. The thread starts when it is needed.
 *
 * @example
 * const thread = new StreamThread<null, string>(moduleBeside(import.meta.url, 'hash-thread'), 'hashes')
 * const sha256 = await thread.run(null, content)
 */
export class StreamThread<Order, Result> {
  readonly #module: URL
  readonly #name: string
  #thread: Worker | null = null
  readonly #jobs = new Map<number, Job<Result>>()
  #lastId = 0

  /**
   * @param module see `moduleBeside`
   * @param name for people who watch the process
   */
  constructor(module: URL, name: string) {
    this.#module = module
    this.#name = name
  }

  /**
   * Sends a stream through the thread.
   *
   * @throws the error of the content; NodekeepError SERVICE_UNAVAILABLE if the thread ends
   */
  async run(order: Order, content: AsyncIterable<Uint8Array>): Promise<Result> {
    this.#lastId += 1
    const id = this.#lastId
    const job: Job<Result> = { pieces: 0, wake: () => {}, failure: null, done: Promise.withResolvers() }
    // The thread may end while bytes are read, before anybody waits for it.
    job.done.promise.catch(() => {})
    this.#jobs.set(id, job)
    try {
      this.#tell({ id, order })
      for await (const piece of content) {
        // A copy, since the memory of the piece may be used again, and may be part of a larger one.
        const bytes = new Uint8Array(piece)
        job.pieces += 1
        this.#tell({ id, bytes }, bytes.buffer)
        while (job.pieces >= mostPieces && job.failure === null) await taken(job)
        if (job.failure !== null) throw job.failure
      }
      this.#tell({ id, end: true })
      return await job.done.promise
    } catch (error) {
      this.#thread?.postMessage({ id, cancel: true } satisfies ToThread)
      throw error
    } finally {
      this.#jobs.delete(id)
    }
  }

  /** Ends the thread. Running calls reject. */
  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #tell(message: ToThread, transferred?: ArrayBuffer): void {
    this.#thread ??= this.#start()
    this.#thread.postMessage(message, transferred === undefined ? [] : [transferred])
  }

  #start(): Worker {
    const thread = new Worker(this.#module, { name: this.#name })
    thread.on('message', (message: FromThread<Result>) => {
      const job = this.#jobs.get(message.id)
      if (job === undefined) return
      if (message.result !== undefined) job.done.resolve(message.result)
      job.pieces -= 1
      job.wake()
    })
    let cause: unknown
    thread.on('error', (error) => {
      cause = error
    })
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = null
      const failure = new NodekeepError(
        'SERVICE_UNAVAILABLE',
        `The thread "${this.#name}" has ended. Try again.`,
        { cause },
      )
      for (const job of this.#jobs.values()) {
        job.failure = failure
        job.done.reject(failure)
        job.wake()
      }
    })
    thread.unref()
    return thread
  }
}

/** Works on the streams that a {@link StreamThread} sends. Called once by its module. */
export function workOnStreams<Order, Result>(begin: (order: Order) => StreamWork<Result>): void {
  if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
  const port = parentPort
  const running = new Map<number, StreamWork<Result>>()
  const send = (message: FromThread<Result>) => port.postMessage(message)
  port.on('message', (message: ToThread) => {
    const { id } = message
    if ('order' in message) running.set(id, begin(message.order as Order))
    else if ('bytes' in message) {
      running.get(id)?.add(message.bytes)
      send({ id })
    } else {
      const work = running.get(id)
      running.delete(id)
      if ('end' in message && work !== undefined) send({ id, result: work.end() })
    }
  })
}

function taken(job: Pick<Job<unknown>, 'wake'>): Promise<void> {
  return new Promise((resolve) => {
    job.wake = resolve
  })
}
