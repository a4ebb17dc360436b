import {
  NodekeepError,
  type StorageEntry,
  type StorageReading,
  type StorageReadOptions,
} from '@nodekeep/plugin-sdk'
import { slice } from './blocks.ts'
import { entryOf, get, type MemoryFile, type MemoryFolder } from './tree.ts'

/** The entries of a folder as they are at one moment, in order. */
export function* list(root: MemoryFolder, path: string): Iterable<StorageEntry> {
  const folder = get(root, path)
  if (folder.type === 'file') throw new NodekeepError('CONFLICT', `${path} is a file, which has no entries.`)
  const entries = [...folder.entries].map(([name, node]) => entryOf(name, node))
  yield* entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

export function read(root: MemoryFolder, path: string, options: StorageReadOptions): StorageReading {
  options.signal?.throwIfAborted()
  const file = get(root, path)
  if (file.type === 'directory') throw new NodekeepError('CONFLICT', `${path} is a folder.`)
  checkRange(file, options)
  return { entry: entryOf(path, file), content: content(file, options) }
}

async function* content(file: MemoryFile, options: StorageReadOptions): AsyncIterable<Uint8Array> {
  const { start = 0, end = file.size - 1, reuseBuffers = false, signal } = options
  for (const piece of slice(file.blocks, start, end)) {
    signal?.throwIfAborted()
    // Whoever keeps a chunk may also change it, and must not change the file by that.
    yield reuseBuffers ? piece : piece.slice()
  }
}

function checkRange({ size }: MemoryFile, { start, end }: StorageReadOptions): void {
  if ((start ?? 0) < size && (end ?? 0) < size) return
  if (start === undefined && end === undefined) return
  throw new NodekeepError(
    'RANGE_NOT_SATISFIABLE',
    `The file has ${size} bytes, fewer than the range asks for.`,
  )
}
