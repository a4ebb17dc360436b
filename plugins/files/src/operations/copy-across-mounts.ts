import { createHash, type Hash, randomBytes } from 'node:crypto'
import {
  type FileChangeOptions,
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import type { StagingStep } from '../journal/change.ts'
import { childOf, parentOf, type UserPath } from '../paths/user-path.ts'
import { concurrently } from './concurrently.ts'
import { definedOnly } from './defined-only.ts'
import { makeDirectoryLocked } from './make-directory.ts'
import { forChange } from './path-errors.ts'
import { fileEntry } from './reading.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { checkPathLength, walk } from './walk.ts'
import { writeLocked } from './writing.ts'

interface CopyOptions extends Pick<FileMoveOptions, 'by' | 'signal'> {
  /** Whether each copy gets the date of creation of its file. */
  readonly keepCreated: boolean
}

/** Files of one copy that are looked up at a time. {@link Scope.copySlots} bounds the copies of a user. */
const filesAtOnce = 8

/** Entries that are removed at a time. */
const removalsAtOnce = 16

/** Paths that an error names. */
const namedPaths = 3

/** The entries that were copied. Only these may be removed from the source. */
export interface Copied {
  /** Files with the revision whose bytes were copied and verified. */
  readonly files: { readonly path: UserPath; readonly revision: string }[]
  /** Folders, each before the folders in it. */
  readonly folders: UserPath[]
}

/** Source and destination of a move. */
interface Endpoints {
  readonly source: UserPath
  readonly destination: UserPath
}

/**
 * A path beside the destination, on the same mount, at which a copy is staged before one step gives it its name. The next
 * start removes what a crash leaves there.
 */
export function stagingPathFor(destination: UserPath, activity: 'moving' | 'copying'): UserPath {
  return childOf(parentOf(destination), `.${activity}-${randomBytes(8).toString('hex')}`)
}

/**
 * Copies a file or folder and verifies each file.
 *
 * @param destination the final path of the copy
 * @throws NodekeepError VALIDATION_ERROR when an entry would have too long a path there
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
  await concurrently(files, filesAtOnce, async ([from, to], failed) => {
    const either = signal === undefined ? failed : AbortSignal.any([signal, failed])
    const details = { ...options, signal: either, staging: stepFor(to === copy) }
    const revision = await scope.copySlots.run(scope.userUuid, () => {
      // The client may have left while the copies before this one ran.
      either.throwIfAborted()
      return copyFile(scope, from, to, details)
    })
    copied.files.push({ path: from, revision })
  })
  return copied
}

function stepFor(isWhole: boolean): StagingStep {
  return isWhole ? 'begin' : 'fill'
}

/** The files to copy, with the paths of their copies. Makes their folders on the way. */
async function* filesIn(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  destination: UserPath,
  options: CopyOptions & Pick<Copied, 'folders'>,
): AsyncGenerator<readonly [from: UserPath, to: UserPath], void, undefined> {
  const copyOf = (path: UserPath) => `${copy}${path.slice(source.length)}` as UserPath
  for await (const [path, { type }] of walk(scope, source)) {
    options.signal?.throwIfAborted()
    checkPathLength(path, source, destination)
    if (type === 'file') yield [path, copyOf(path)]
    else {
      await makeDirectoryLocked(scope, copyOf(path), { ...options, staging: stepFor(path === source) })
      options.folders.push(path)
    }
  }
}

/** @returns the revision that was copied */
async function copyFile(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  { by, signal, keepCreated, staging }: CopyOptions & { readonly staging: StagingStep },
): Promise<string> {
  const { backend, backendPath } = scope.locate(source)
  const reading = await forChange(source, () => backend.read(backendPath, definedOnly({ signal })))
  const { size, created, modified } = await fileEntry(scope, source, reading.entry)
  const hash = createHash('sha256')
  const options = definedOnly({ by, signal, size, modified })
  await writeLocked(scope, copy, hashing(reading.content, hash), options, {
    staging,
    ...(keepCreated && { created }),
  })
  if (hash.digest('hex') !== (await hashOf(scope, copy, signal))) {
    throw new NodekeepError(
      'INTERNAL_ERROR',
      `The copy of "${source}" differs from it, so nothing was changed.`,
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
  const { backend, backendPath } = scope.locate(path)
  const { content } = await backend.read(backendPath, { reuseBuffers: true, ...definedOnly({ signal }) })
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk)
  return hash.digest('hex')
}

/**
 * Removes exactly the copied entries from the source: each file if it still has the revision that was copied, then the
 * folders, inner ones first, if nothing is left in them. Entries that listings do not show, and entries that other
 * programs added or changed meanwhile, stay together with their folders.
 *
 * @throws NodekeepError CONFLICT that names what stayed; the code of another failure, such as SERVICE_UNAVAILABLE
 */
export async function removeCopied(
  scope: Scope,
  { files, folders }: Copied,
  endpoints: Endpoints,
  options: FileChangeOptions,
): Promise<void> {
  const stayed: UserPath[] = []
  const inUse = new Set<string>()
  const remove = async (path: UserPath, condition: { ifRevision: string } | { onlyIfEmpty: true }) => {
    if (await isRemoved(scope, path, { ...options, ...condition })) return
    stayed.push(path)
    for (const folder of foldersAbove(path)) inUse.add(folder)
  }
  try {
    await concurrently(files, removalsAtOnce, ({ path, revision }) => remove(path, { ifRevision: revision }))
    for (const level of deepestFirst(folders)) {
      const unused = level.filter((path) => !inUse.has(path))
      await concurrently(unused, removalsAtOnce, (path) => remove(path, { onlyIfEmpty: true }))
    }
  } catch (error) {
    throw isNodekeepError(error) ? removalFailed(endpoints, error) : error
  }
  if (stayed.length > 0) throw entriesStayed(endpoints, stayed)
}

/** False when the path holds something else than the copied entry. */
async function isRemoved(...args: Parameters<typeof removeLocked>): Promise<boolean> {
  try {
    await removeLocked(...args)
    return true
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    if (error.code === 'NOT_FOUND') return true
    if (error.code === 'CONFLICT' || error.code === 'PRECONDITION_FAILED') return false
    throw error
  }
}

/** Folders grouped by their depth, the deepest group first. */
function deepestFirst(folders: readonly UserPath[]): UserPath[][] {
  const levels = Map.groupBy(folders, (folder) => folder.split('/').length)
  return [...levels].sort(([a], [b]) => b - a).map(([, level]) => level)
}

function foldersAbove(path: UserPath): string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}

function entriesStayed({ source, destination }: Endpoints, stayed: readonly UserPath[]): NodekeepError {
  const first = stayed.slice(0, namedPaths).map((path) => `"${path}"`)
  const more = stayed.length > namedPaths ? ` and ${stayed.length - namedPaths} more` : ''
  return new NodekeepError(
    'CONFLICT',
    `"${source}" was copied to "${destination}", but not all of it could be removed afterwards. These stay: ` +
      `${first.join(', ')}${more}. They were changed meanwhile, or contain something that is not copied, such as a link.`,
  )
}

function removalFailed({ source, destination }: Endpoints, cause: NodekeepError): NodekeepError {
  const message = `"${source}" was copied to "${destination}", but could not be removed afterwards: ${cause.message}`
  return new NodekeepError(cause.code, message, { cause, headers: cause.headers })
}
