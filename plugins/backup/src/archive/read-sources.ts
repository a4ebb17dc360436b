import { NodekeepError } from '@nodekeep/plugin-sdk'
import { inTime, type StallLimit } from './in-time.ts'

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
  readonly open?: () => AsyncIterable<Uint8Array>
  /** Whether another program changed the file while it was read. Asked when it was read. */
  readonly changed?: () => boolean | Promise<boolean>
}

/** Files of this size are read ahead, several at once. */
const smallBytes = 64 * 1024
const readAtOnce = 8

/** Reads a source, and returns whether it changed. */
type Content = AsyncGenerator<Uint8Array, boolean, undefined>

/** Yields the entries in their order, while the small ones behind them are already read. */
export async function* readAhead(
  entries: AsyncIterable<ArchiveSource>,
  limit: StallLimit,
): AsyncGenerator<{ readonly source: ArchiveSource; readonly content: Content }> {
  const ahead: { readonly source: ArchiveSource; readonly content: Promise<Content> }[] = []
  const late = () => `no entry followed ${JSON.stringify(ahead.at(-1)?.source.path ?? last)}`
  const iterator = inTime(entries, late, limit)
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
          const content = source.size <= smallBytes ? readWhole(source, limit) : contentOf(source, limit)
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
async function readWhole(source: ArchiveSource, limit: StallLimit): Promise<Content> {
  const chunks: Uint8Array[] = []
  const content = contentOf(source, limit)
  let next = await content.next()
  for (; !next.done; next = await content.next()) chunks.push(Uint8Array.from(next.value))
  return readContent(chunks, next.value)
}

async function* readContent(chunks: readonly Uint8Array[], changed: boolean): Content {
  yield* chunks
  return changed
}

/** Yields the bytes of a source, and returns whether it changed. Another number of bytes than it said fails. */
async function* contentOf(entry: ArchiveSource, limit: StallLimit): Content {
  if (entry.type === 'directory') return false
  const stream = entry.open?.()
  if (stream === undefined) throw new Error(`The file ${entry.path} cannot be opened.`)
  let [missing, isLonger] = [entry.size, false]
  const late = () => `no more bytes of ${JSON.stringify(entry.path)} came`
  for await (const bytes of inTime<Uint8Array>(stream, late, limit)) {
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
