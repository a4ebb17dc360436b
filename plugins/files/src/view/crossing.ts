import { createHash, type Hash, randomBytes } from 'node:crypto'
import { type FileMoveOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import { childOf, longestPath, root, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { fileEntry } from './entries.ts'
import { changing } from './explain.ts'
import { makeDirectoryLocked } from './folders.ts'
import { tooLongThere } from './path-lengths.ts'
import type { Scope } from './scope.ts'
import { sideBySide } from './side-by-side.ts'
import { walk } from './walk.ts'
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
 * destination, on the same mount. What a crash leaves there is removed by the next start.
 */
export function stopoverFor(destination: UserPath): UserPath {
  const parent = destination.slice(0, destination.lastIndexOf('/')) || root
  return childOf(parent as UserPath, `.moving-${randomBytes(8).toString('hex')}`)
}

/**
 * Copies a file or folder and verifies each file.
 *
 * @param destination where the copy will be in the end
 * @throws NodekeepError VALIDATION_ERROR when something would have too long a path there
 */
export async function copyTo(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  destination: UserPath,
  options: CopyOptions,
): Promise<Copied> {
  const copied: Copied = { files: [], folders: [] }
  const files = filesIn(scope, source, copy, destination, { ...options, folders: copied.folders })
  const { signal } = options
  await sideBySide(files, width, async ([from, to], failed) => {
    const either = signal === undefined ? failed : AbortSignal.any([signal, failed])
    const details = { ...options, signal: either, isStopover: to === copy }
    const revision = await copyFile(scope, from, to, details)
    copied.files.push({ path: from, revision })
  })
  return copied
}

/** The files to copy, and where to. The folders that they are in are made on the way. */
async function* filesIn(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  destination: UserPath,
  options: CopyOptions & Pick<Copied, 'folders'>,
): AsyncGenerator<readonly [from: UserPath, to: UserPath], void, undefined> {
  const lengthened = Buffer.byteLength(destination) - Buffer.byteLength(source)
  const copyOf = (path: UserPath) => `${copy}${path.slice(source.length)}` as UserPath
  for await (const [path, { type }] of walk(scope, source)) {
    options.signal?.throwIfAborted()
    if (Buffer.byteLength(path) + lengthened > longestPath) throw tooLongThere(source, destination)
    if (type === 'file') yield [path, copyOf(path)]
    else {
      const isStopover = path === source
      await makeDirectoryLocked(scope, copyOf(path), { ...options, isStopover })
      options.folders.push(path)
    }
  }
}

/** @returns the revision that was copied */
async function copyFile(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  { by, signal, isStopover }: CopyOptions & { readonly isStopover: boolean },
): Promise<string> {
  const { backend, backendPath } = scope.place(source)
  const reading = await changing(source, () => backend.read(backendPath, definedOnly({ signal })))
  const { size, created } = await fileEntry(scope, source, reading.entry)
  const sent = createHash('sha256')
  const options = definedOnly({ by, signal, size })
  const details = { born: created, isStopover }
  await writeLocked(scope, copy, hashing(reading.content, sent), options, details)
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
