import { createHash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { moduleBeside } from '@nodekeep/plugin-sdk/threads'
import { type Content, ContentBlocks } from '../../protocol/content-blocks.ts'
import type { FromContentThread, ToContentThread } from './content-thread.ts'

/** Bytes of a content that is hashed at once. That takes less time than messages to the thread. */
const mostAtOnce = 64 * 1024

/** Pieces of a file that are on their way to the thread. */
const mostPieces = 8

interface Job {
  /** Pieces that the thread has not taken yet. */
  pieces: number
  /** Called when the thread has taken a piece, or has ended. */
  wake: () => void
  failure: NodekeepError | null
  readonly done: PromiseWithResolvers<Content>
}

/** Cuts and hashes contents in a thread of its own, so that requests need not wait for it. The thread starts when it is needed. */
export class ContentHasher {
  #thread: Worker | null = null
  readonly #jobs = new Map<number, Job>()
  #lastId = 0

  /**
   * @param size bytes of the content
   * @throws the error of the content; NodekeepError SERVICE_UNAVAILABLE if the thread ends
   */
  async hash(content: AsyncIterable<Uint8Array>, size: number): Promise<Content> {
    if (size <= mostAtOnce) {
      const blocks = new ContentBlocks(size, () => createHash('sha256'))
      for await (const piece of content) blocks.add(piece)
      return blocks.end()
    }
    this.#lastId += 1
    const id = this.#lastId
    const job: Job = { pieces: 0, wake: () => {}, failure: null, done: Promise.withResolvers() }
    // The thread may end while bytes are read, before anybody waits for it.
    job.done.promise.catch(() => {})
    this.#jobs.set(id, job)
    try {
      this.#tell({ id, size })
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
      this.#thread?.postMessage({ id, cancel: true } satisfies ToContentThread)
      throw error
    } finally {
      this.#jobs.delete(id)
    }
  }

  /** Ends the thread. Running calls reject. */
  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #tell(message: ToContentThread, transferred?: ArrayBuffer): void {
    this.#thread ??= this.#start()
    this.#thread.postMessage(message, transferred === undefined ? [] : [transferred])
  }

  #start(): Worker {
    const file = moduleBeside(import.meta.url, 'content-thread')
    const thread = new Worker(file, { execArgv: [], name: 'hashes of files' })
    thread.on('message', ({ id, content }: FromContentThread) => {
      const job = this.#jobs.get(id)
      if (job === undefined) return
      if (content !== undefined) job.done.resolve(content)
      job.pieces -= 1
      job.wake()
    })
    let cause: unknown
    thread.on('error', (error) => {
      cause = error
    })
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = null
      const failure = new NodekeepError('SERVICE_UNAVAILABLE', 'Hashing has ended. Try again.', { cause })
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

function taken(job: Job): Promise<void> {
  return new Promise((resolve) => {
    job.wake = resolve
  })
}
