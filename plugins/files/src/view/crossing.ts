import { createHash, type Hash, randomBytes } from 'node:crypto'
import { type FileMoveOptions, NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { childOf, root, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { fileEntry } from './entries.ts'
import { changing } from './explain.ts'
import { makeDirectoryLocked } from './folders.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { writeLocked } from './writing.ts'

type CopyOptions = Pick<FileMoveOptions, 'by' | 'signal'>

/**
 * Where something from another mount is put together before it gets its name in one step: a path beside its
 * destination, on the same mount. Only a crash leaves it there.
 */
export function stopoverFor(destination: UserPath): UserPath {
  const parent = destination.slice(0, destination.lastIndexOf('/')) || root
  return childOf(parent as UserPath, `.moving-${randomBytes(8).toString('hex')}`)
}

/** Copies a file or folder and verifies each file. When that fails, nothing stays of the copy. */
export async function copyTo(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  entry: StorageEntry,
  options: CopyOptions,
): Promise<void> {
  try {
    await copyTree(scope, source, copy, entry, options)
  } catch (error) {
    await removeLocked(scope, copy, definedOnly({ by: options.by })).catch(() => {})
    throw error
  }
}

async function copyTree(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  entry: StorageEntry,
  options: CopyOptions,
): Promise<void> {
  options.signal?.throwIfAborted()
  if (entry.type === 'file') {
    await copyFile(scope, source, copy, options)
    return
  }
  await makeDirectoryLocked(scope, copy, options)
  const { backend, backendPath } = scope.place(source)
  for await (const child of backend.list(backendPath)) {
    await copyTree(scope, childOf(source, child.name), childOf(copy, child.name), child, options)
  }
}

async function copyFile(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  { by, signal }: CopyOptions,
): Promise<void> {
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
