import { open, rm } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { type BackupEntry, NodekeepError, untilAborted } from '@nodekeep/plugin-sdk'
import type { ArchiveFailure } from '@nodekeep/plugin-sdk/archive'
import { type BackupHeader, backupFormat } from './backup-header.ts'
import { inTime, type Patience } from './in-time.ts'
import { checkRecipient } from './recovery-key.ts'
import type { FromWriter, Part, ToWriter, WriteSettings } from './write-protocol.ts'

/** A file or a folder for an archive. */
export interface ArchiveSource {
  /** Relative and `/`-separated, of valid UTF-8, without `.`, `..` and empty names; each path once. */
  readonly path: string
  readonly type: 'file' | 'directory'
  /** Bytes; 0 for a folder. */
  readonly size: number
  readonly modified: Date
  readonly created?: Date
  /** Opens the content of a file, which has exactly `size` bytes. It is called once, and not for a folder. */
  readonly open?: () => AsyncIterable<Uint8Array> | ReturnType<BackupEntry['open']>
  /** Whether another program changed the file while it was read. Asked when it was read. */
  readonly changed?: () => boolean | Promise<boolean>
}

/** What an archive is made of. */
interface ArchiveContent {
  readonly header: Omit<BackupHeader, 'format'>
  /** Files may come without the folders above them. */
  readonly entries: AsyncIterable<ArchiveSource>
  /** Public keys of age. With at least one, the archive is encrypted to all of them. */
  readonly recipients?: readonly string[]
  /** The level of gzip, from 1 to 9. Default: 6. */
  readonly level?: number
  /** The longest wait for an entry, and for the next bytes of one, in milliseconds. Default: ten minutes. */
  readonly stallMs?: number
  readonly signal?: AbortSignal
  /** Receives what was read so far, about once for each MiB. */
  readonly onProgress?: (progress: ArchiveProgress) => void
}

/** How far an archive is. */
interface ArchiveProgress {
  readonly entries: number
  /** Bytes of the contents, before compression. */
  readonly bytes: number
}

/** An archive that was written. */
interface WrittenArchive extends ArchiveProgress {
  /** Bytes of the archive. */
  readonly size: number
  /** The paths of entries that changed while they were read. */
  readonly changed: readonly string[]
}

const batchBytes = 1024 * 1024
const batches = 4
const defaultStallMs = 10 * 60_000

/** Files of this size are read ahead, several at once. */
const smallBytes = 64 * 1024
const readAtOnce = 8

/**
 * Writes a backup into a new file, which is synced when this resolves. Compression and encryption happen in a thread of
 * their own. The memory does not grow with the sizes, and by some 300 bytes for each entry. When it rejects, there is no file.
 *
 * Rejects with the errors of the entries; with the reason of the signal; with NodekeepError VALIDATION_ERROR for a path that a
 * reader would refuse and for a recipient that is not valid, INTERNAL_ERROR for an entry that has another size than it said and
 * for entries that stall, INSUFFICIENT_STORAGE when the disk is full.
 *
 * @param file must not exist. The caller gives it its final name.
 */
export async function writeArchive(
  file: string,
  {
    header,
    entries,
    recipients = [],
    level = 6,
    stallMs = defaultStallMs,
    signal,
    onProgress,
  }: ArchiveContent,
): Promise<WrittenArchive> {
  signal?.throwIfAborted()
  for (const recipient of recipients) checkRecipient(recipient)
  await (await open(file, 'wx', 0o600)).close()
  const packed = { format: backupFormat, ...header }
  const writer = new Writer({ file, header: packed, recipients, level }, signal, onProgress)
  try {
    const patience = { stallMs, signal: writer.signal }
    for await (const { source, content } of readAhead(entries, patience)) {
      try {
        await writer.begin(source)
        let next = await content.next()
        for (; !next.done; next = await content.next()) await writer.write(next.value)
        writer.end(next.value)
      } finally {
        await content.return(false)
      }
    }
    return await writer.finish()
  } catch (error) {
    const reason = writer.signal.aborted ? writer.signal.reason : error
    await writer.stop(reason)
    await rm(file, { force: true })
    throw reason
  } finally {
    await writer.stop()
  }
}

/** Reads a source, and returns whether it changed. */
type Content = AsyncGenerator<Uint8Array, boolean, undefined>

/** Yields the entries in their order, while the small ones behind them are already read. */
async function* readAhead(
  entries: AsyncIterable<ArchiveSource>,
  patience: Patience,
): AsyncGenerator<{ readonly source: ArchiveSource; readonly content: Content }> {
  const ahead: { readonly source: ArchiveSource; readonly content: Promise<Content> }[] = []
  const late = () => `no entry followed ${JSON.stringify(ahead.at(-1)?.source.path ?? last)}`
  const iterator = inTime(entries, late, patience)
  let isWhole = false
  let last = ''
  try {
    for (;;) {
      while (!isWhole && ahead.length < readAtOnce && (ahead.at(-1)?.source.size ?? 0) <= smallBytes) {
        const next = await iterator.next()
        if (next.done) isWhole = true
        else {
          const source = next.value
          checkEntry(source)
          const content =
            source.size <= smallBytes ? readWhole(source, patience) : contentOf(source, patience)
          const started = Promise.resolve(content)
          // The iteration may end before it is awaited.
          started.catch(() => {})
          ahead.push({ source, content: started })
        }
      }
      const first = ahead.shift()
      if (first === undefined) return
      last = first.source.path
      yield { source: first.source, content: await first.content }
    }
  } finally {
    if (!isWhole) await iterator.return()
  }
}

function checkEntry({ path, type, size, modified, created }: ArchiveSource): void {
  const isWell =
    path.isWellFormed() &&
    Number.isSafeInteger(size) &&
    size >= 0 &&
    (type === 'file' || size === 0) &&
    [modified, created].every((time) => time === undefined || !Number.isNaN(time.getTime()))
  if (!isWell) {
    throw new NodekeepError(
      'INTERNAL_ERROR',
      `The backup failed: ${JSON.stringify(path)} has a name, a size or a time that no archive can hold.`,
    )
  }
}

/** Reads a small file to its end. */
async function readWhole(source: ArchiveSource, patience: Patience): Promise<Content> {
  const chunks: Uint8Array[] = []
  const content = contentOf(source, patience)
  let next = await content.next()
  for (; !next.done; next = await content.next()) chunks.push(Uint8Array.from(next.value))
  const changed = next.value
  return (async function* () {
    yield* chunks
    return changed
  })()
}

/** Yields the bytes of a source, and returns whether it changed. Another number of bytes than it said fails. */
async function* contentOf(entry: ArchiveSource, patience: Patience): Content {
  if (entry.type === 'directory') return false
  const stream = entry.open?.()
  if (stream === undefined) throw new Error(`The file ${entry.path} cannot be opened.`)
  let [missing, isLonger] = [entry.size, false]
  const late = () => `no more bytes of ${JSON.stringify(entry.path)} came`
  for await (const bytes of inTime<Uint8Array>(stream, late, patience)) {
    isLonger = bytes.length > missing
    if (missing > 0) yield bytes.subarray(0, missing)
    missing -= Math.min(missing, bytes.length)
    if (isLonger) break
  }
  if (!isLonger && missing === 0) return (await entry.changed?.()) ?? false
  throw new NodekeepError(
    'INTERNAL_ERROR',
    `The backup failed: ${JSON.stringify(entry.path)} has ${isLonger ? 'more' : 'fewer'} than the ${entry.size} bytes that were expected.`,
  )
}

function failed({ code, message }: ArchiveFailure): NodekeepError {
  return new NodekeepError(code, `The backup failed: the archive ${message}.`)
}

/** The thread that writes, with the memory that goes to it and back. */
class Writer {
  readonly #thread: Worker
  readonly #abort = new AbortController()
  /** Aborted with the failure of the thread, or with the reason of the caller's signal. */
  readonly signal: AbortSignal
  readonly #onProgress: ArchiveContent['onProgress']
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
    onProgress: ArchiveContent['onProgress'],
  ) {
    this.signal = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal
    this.#onProgress = onProgress
    this.#size.promise.catch(() => {})
    // The thread's file has the extension of this one: `.ts` in the sources, `.js` once compiled.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#thread = new Worker(new URL(`write-thread.${extension}`, import.meta.url), {
      workerData: { ...settings, memory: this.#memory } satisfies WriteSettings,
      name: 'backup writer',
      resourceLimits: { maxOldGenerationSizeMb: 2048 },
    })
    this.#thread.on('message', (message: FromWriter) => {
      if (message.kind === 'done') this.#size.resolve(message.size)
      else if (message.kind === 'failed') this.#abort.abort(failed(message.failure))
      else {
        this.#free.push(message.memory)
        this.#onFree()
      }
    })
    this.#thread.on('error', (error) => this.#abort.abort(error))
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
    await this.#thread.terminate()
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
    if (this.#filled === batchBytes || this.#parts.length >= 1024) this.#send()
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
