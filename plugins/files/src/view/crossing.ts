import { createHash, type Hash, randomBytes } from 'node:crypto'
import { type FileMoveOptions, NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { childOf, root, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { fileEntry } from './entries.ts'
import { changing } from './explain.ts'
import { makeDirectoryLocked } from './folders.ts'
import type { Scope } from './scope.ts'
import { sideBySide } from './side-by-side.ts'
import { writeLocked } from './writing.ts'

type CopyOptions = Pick<FileMoveOptions, 'by' | 'signal'>

/** Files that are copied at once: they share the syncs of their folder and of the journal. */
const width = 8

/** What was copied. Only this may be removed from where it came from. */
export interface Copied {
  /** Files, each with the revision whose bytes were copied and verified. */
  readonly files: { readonly path: UserPath; readonly revision: string }[]
  /** Folders, each before those in it. */
  readonly folders: UserPath[]
}

/**
 * Where something from another mount is put together before it gets its name in one step: a path beside its
 * destination, on the same mount. Only a crash leaves it there.
 */
export function stopoverFor(destination: UserPath): UserPath {
  const parent = destination.slice(0, destination.lastIndexOf('/')) || root
  return childOf(parent as UserPath, `.moving-${randomBytes(8).toString('hex')}`)
}

/** Copies a file or folder and verifies each file. */
export async function copyTo(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  entry: StorageEntry,
  options: CopyOptions,
): Promise<Copied> {
  const copied: Copied = { files: [], folders: [] }
  const files = filesIn(scope, source, copy, entry, { ...options, folders: copied.folders })
  const { signal } = options
  await sideBySide(files, width, async ([from, to], failed) => {
    const either = signal === undefined ? failed : AbortSignal.any([signal, failed])
    const revision = await copyFile(scope, from, to, { ...options, signal: either })
    copied.files.push({ path: from, revision })
  })
  return copied
}

/** The files to copy, and where to. The folders that they are in are made on the way. */
async function* filesIn(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  entry: StorageEntry,
  options: CopyOptions & Pick<Copied, 'folders'>,
): AsyncGenerator<readonly [from: UserPath, to: UserPath], void, undefined> {
  options.signal?.throwIfAborted()
  if (entry.type === 'file') {
    yield [source, copy]
    return
  }
  await makeDirectoryLocked(scope, copy, options)
  options.folders.push(source)
  const { backend, backendPath } = scope.place(source)
  for await (const child of backend.list(backendPath)) {
    yield* filesIn(scope, childOf(source, child.name), childOf(copy, child.name), child, options)
  }
}

/** @returns the revision that was copied */
async function copyFile(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  { by, signal }: CopyOptions,
): Promise<string> {
  const { backend, backendPath } = scope.place(source)
  const reading = await changing(source, () => backend.read(backendPath, definedOnly({ signal })))
  const { size, created } = await fileEntry(scope, source, reading.entry)
  const sent = createHash('sha256')
  const options = definedOnly({ by, signal, size })
  await writeLocked(scope, copy, hashing(reading.content, sent), options, created)
  if (sent.digest('hex') !== (await hashOf(scope, copy, signal))) {
    throw new NodekeepError(
      'INTERNAL_ERROR',
      `"${source}" did not arrive whole on the other mount, so it stays where it is.`,
    )
  }
  return reading.entry.revision
}

async function* hashing(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncIterable<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

async function hashOf(scope: Scope, path: UserPath, signal: AbortSignal | undefined): Promise<string> {
  const { backend, backendPath } = scope.place(path)
  const { content } = await backend.read(backendPath, { reuseBuffers: true, ...definedOnly({ signal }) })
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk)
  return hash.digest('hex')
}
