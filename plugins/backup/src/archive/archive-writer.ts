import { Worker } from 'node:worker_threads'
import { NodekeepError, untilAborted } from '@nodekeep/plugin-sdk'
import { archiveFailure } from '@nodekeep/plugin-sdk/archive'
import { endThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { ArchiveSource } from './read-sources.ts'
import type { FromWriter, Part, ToWriter, WriteSettings } from './write-protocol.ts'

/** The progress of writing an archive. */
interface ArchiveProgress {
  readonly entries: number
  /** Bytes of the contents, before compression. */
  readonly bytes: number
}

/** Receives the progress of writing, about once for each MiB. */
export type OnProgress = (progress: ArchiveProgress) => void

/** An archive that was written. */
export interface WrittenArchive extends ArchiveProgress {
  /** Bytes of the archive. */
  readonly size: number
  /** The paths of entries that changed while they were read. */
  readonly changed: readonly string[]
}

const batchBytes = 1024 * 1024
const batches = 4

/** Parts of entries in a batch. They stay in memory until the thread has taken them. */
const maxParts = 256

/** The limits of the thread's heap, in mebibytes. Without the second one, garbage fills 50 MiB before it is collected. */
const resourceLimits = { maxOldGenerationSizeMb: 2048, maxYoungGenerationSizeMb: 6 }

/** The thread that writes, with the memory that goes to it and back. */
export class ArchiveWriter {
  readonly #thread: Worker
  readonly #abort = new AbortController()
  /** Aborted with the failure of the thread, or with the reason of the caller's signal. */
  readonly signal: AbortSignal
  readonly #onProgress: OnProgress | undefined
  readonly #memory = Array.from({ length: batches }, () => new Uint8Array(new SharedArrayBuffer(batchBytes)))
  /** Indexes of memory that the thread does not use. */
  readonly #free = [...this.#memory.keys()]
  #onFree: () => void = () => {}
  readonly #size = Promise.withResolvers<number>()
  /** The index of the memory that is being filled. */
  #current: number | null = null
  #filled = 0
  #parts: Part[] = []
  #path = ''
  readonly #changed: string[] = []
  readonly #done = { entries: 0, bytes: 0 }

  constructor(
    settings: Omit<WriteSettings, 'memory'>,
    signal: AbortSignal | undefined,
    onProgress: OnProgress | undefined,
  ) {
    this.signal = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal
    this.#onProgress = onProgress
    this.#size.promise.catch(() => {})
    this.#thread = new Worker(moduleBeside(import.meta.url, 'write-thread'), {
      workerData: { ...settings, memory: this.#memory } satisfies WriteSettings,
      name: 'backup writer',
      resourceLimits,
    })
    this.#thread.on('message', (message: FromWriter) => {
      if (message.kind === 'done') this.#size.resolve(message.size)
      else {
        this.#free.push(message.memory)
        this.#onFree()
      }
    })
    this.#thread.on('error', (error) => this.#abort.abort(explained(error)))
    this.#thread.on('exit', () => this.#abort.abort(new Error('The thread that writes a backup ended.')))
  }

  async begin({ path, type, size, modified, created }: ArchiveSource): Promise<void> {
    await this.#room()
    this.#path = path
    this.#parts.push({
      begins: { path, type, size, modified, ...(created && { created }) },
      length: 0,
      ends: null,
    })
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      const batch = await this.#room()
      const taken = rest.subarray(0, batch.length - this.#filled)
      batch.set(taken, this.#filled)
      this.#filled += taken.length
      this.#part().length += taken.length
      rest = rest.subarray(taken.length)
    }
    this.#done.bytes += bytes.length
  }

  end(changed: boolean): void {
    if (changed) this.#changed.push(this.#path)
    this.#part().ends = { changed }
    this.#done.entries += 1
  }

  async finish(): Promise<WrittenArchive> {
    this.#send()
    this.#post({ kind: 'end' })
    const size = await untilAborted(this.#size.promise, this.signal)
    return { size, ...this.#done, changed: this.#changed }
  }

  /** Ends the thread, and everything that waits for the signal. */
  async stop(reason?: unknown): Promise<void> {
    this.#abort.abort(reason)
    await endThread(this.#thread, { kind: 'cancel' } satisfies ToWriter)
  }

  /** The last part of the batch. An entry goes on in the next batch without a begin. */
  #part(): Part {
    const last = this.#parts.at(-1)
    if (last !== undefined && last.ends === null) return last
    const part: Part = { begins: null, length: 0, ends: null }
    this.#parts.push(part)
    return part
  }

  /** Returns the memory of the batch, which has room for a byte and a part. */
  async #room(): Promise<Uint8Array> {
    if (this.#filled === batchBytes || this.#parts.length >= maxParts) this.#send()
    while (this.#current === null) {
      this.#current = this.#free.pop() ?? null
      if (this.#current !== null) break
      const freed = new Promise<void>((resolve) => (this.#onFree = resolve))
      await untilAborted(freed, this.signal)
    }
    return this.#memory[this.#current] as Uint8Array
  }

  #send(): void {
    if (this.#current === null) return
    this.#post({ kind: 'batch', parts: this.#parts, memory: this.#current })
    this.#current = null
    this.#filled = 0
    this.#parts = []
    this.#onProgress?.({ ...this.#done })
  }

  #post(message: ToWriter): void {
    this.#thread.postMessage(message)
  }
}

function explained(error: unknown): unknown {
  const failure = archiveFailure(error)
  if (failure === null) return error
  const { code, message } = failure
  const isFull = code === 'INSUFFICIENT_STORAGE'
  const problem = isFull ? 'cannot be written: the disk is full. Free some space and try again' : message
  return new NodekeepError(code, `The backup failed: the archive ${problem}.`)
}
