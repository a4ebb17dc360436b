import { createHash, type Hash } from 'node:crypto'
import {
  concurrently,
  type FileEntry,
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
  type StorageEntry,
  type StorageKnowledge,
} from '@nodekeep/plugin-sdk'
import { versionError } from '@nodekeep/plugin-sdk/stored-content'
import type { StagingStep } from '../journal/change.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { HeldRoom } from '../quota/held-room.ts'
import { definedOnly } from './defined-only.ts'
import type { KeptPlace } from './keeping.ts'
import { makeDirectoryLocked } from './make-directory.ts'
import { forChange } from './path-errors.ts'
import { fileEntry } from './reading.ts'
import type { Scope } from './scope.ts'
import { checkPathLengthsOf, type ListedTree, type Tree, treeAt } from './walk.ts'
import { storeLocked, writeLocked } from './writing.ts'

interface CopyOptions extends Pick<FileMoveOptions, 'ifRevision' | 'signal'> {
  /** Where the files get their room. */
  readonly room: HeldRoom
  /** Whether each copy gets the date of creation of its file. */
  readonly keepCreated: boolean
  /** Whether readers of the journal see nothing of the copy before it is placed. */
  readonly isStaged: boolean
  /** Runs for each file, with its bytes, when only the steps are left that store it. It then replaces what is at its path. */
  readonly beforeStoring?: (bytes: number) => Promise<void>
}

interface CopiedPaths {
  readonly source: UserPath
  readonly entry: StorageEntry
  /** All entries of the source. */
  readonly tree: ListedTree
  /** Its parent is a folder. */
  readonly copy: UserPath
  /** The entry at the path of the copy; null if there is none. */
  readonly replaced: StorageEntry | null
}

/** Files of one copy that are looked up at a time. {@link Scope.copySlots} bounds the copies of a user. */
const filesAtOnce = 8

/** The copy of a file. */
export interface FileCopy {
  readonly path: UserPath
  readonly revision: string
  /** The place of the content that it has replaced; undefined if there was none, or it is not kept. */
  readonly former: KeptPlace | undefined
}

/** The entries that were copied so far. */
export interface Copied {
  /** Entries of the source. Only these may be removed from it. Each file has the revision that was copied. */
  readonly source: Tree
  readonly copy: Tree<FileCopy>
}

export function nothingCopied(): Copied {
  return { source: { files: [], folders: [] }, copy: { files: [], folders: [] } }
}

/**
 * Finds the entries to copy, and the room for them. It changes nothing, so a copy that is refused here has replaced nothing.
 *
 * @throws NodekeepError VALIDATION_ERROR when an entry would have too long a path at the destination, INSUFFICIENT_STORAGE
 */
export async function entriesToCopy(
  scope: Scope,
  { source, entry, destination }: { source: UserPath; entry: StorageEntry; destination: UserPath },
  { room, signal }: Pick<CopyOptions, 'room' | 'signal'>,
): Promise<ListedTree> {
  const found = await treeAt(scope, source, entry, signal)
  checkPathLengthsOf(found, source, destination)
  await room.extend(found.files.reduce((sum, { size }) => sum + size, 0))
  return found
}

/**
 * Copies a file or folder and verifies each file.
 *
 * @param copied gets each entry when it was copied
 */
export async function copyTree(
  scope: Scope,
  { source, entry, tree, copy, replaced }: CopiedPaths,
  copied: Copied,
  options: CopyOptions,
): Promise<void> {
  const { signal, isStaged } = options
  const copyOf = (path: UserPath) => `${copy}${path.slice(source.length)}` as UserPath
  const stepFor = (path: UserPath): StagingStep | undefined =>
    isStaged ? (path === source ? 'begin' : 'fill') : undefined
  for (const path of tree.folders) {
    signal?.throwIfAborted()
    const isMissing = path !== source || replaced === null
    await makeDirectoryLocked(scope, copyOf(path), {
      isMissing,
      ...definedOnly({ staging: stepFor(path) }),
    })
    copied.source.folders.push(path)
    copied.copy.folders.push(copyOf(path))
  }
  await concurrently(tree.files, filesAtOnce, ({ path }, failed) =>
    scope.copySlots.run(scope.userUuid, async () => {
      const either = signal === undefined ? failed : AbortSignal.any([signal, failed])
      // The client may have left while the copies before this one ran.
      either.throwIfAborted()
      const known = path === source ? { source: entry, destination: replaced } : { destination: null }
      const details = { ...options, signal: either, staging: stepFor(path), known }
      const { from, to, former, verify } = await copyFile(scope, path, copyOf(path), details)
      copied.source.files.push({ path, revision: from })
      copied.copy.files.push({ path: copyOf(path), revision: to, former })
      if (await verify()) return
      throw new NodekeepError(
        'INTERNAL_ERROR',
        `The storage returns other bytes for the copy of "${path}" than were written, so the copy is removed.`,
      )
    }),
  )
}

type CopyFileOptions = CopyOptions & {
  readonly signal: AbortSignal
  readonly staging: StagingStep | undefined
  readonly known: StorageKnowledge
}

interface CopiedFile {
  /** The revision that was copied. */
  readonly from: string
  /** The revision of the copy. */
  readonly to: string
  readonly former: KeptPlace | undefined
  /** Whether the copy has the bytes of its source. */
  verify(): Promise<boolean>
}

/** Copies a file, by its backend if that copies files. Such a copy is not verified: no byte passed through the node. */
async function copyFile(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  options: CopyFileOptions,
): Promise<CopiedFile> {
  const { backend } = scope.locate(source)
  const isOwn = backend === scope.locate(copy).backend && backend.copy !== undefined
  return isOwn ? copyByBackend(scope, source, copy, options) : copyBytes(scope, source, copy, options)
}

async function copyByBackend(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  { signal, keepCreated, staging, known, room, ifRevision, beforeStoring }: CopyFileOptions,
): Promise<CopiedFile> {
  const { backend, backendPath } = scope.locate(source)
  const entry = known.source ?? (await forChange(source, () => backend.stat(backendPath, { signal })))
  const { size, created, modified, revision } = await fileEntry(scope, source, entry)
  checkCopied(revision, ifRevision)
  await beforeStoring?.(size)
  const details = { room, staging, ...(keepCreated && { created }) }
  const { file, former } = await storeLocked(scope, copy, details, (step) =>
    (backend as Required<typeof backend>).copy(backendPath, scope.locate(copy).backendPath, {
      ifSourceRevision: revision,
      modified,
      ...step,
      known: { ...known, source: entry },
      signal,
    }),
  ).catch((error) => {
    if (!isNodekeepError(error) || error.code !== 'PRECONDITION_FAILED') throw error
    throw new NodekeepError('CONFLICT', `"${source}" was changed while it was copied. Try again.`, {
      cause: error,
    })
  })
  return { from: revision, to: file.revision, former, verify: async () => true }
}

async function copyBytes(
  scope: Scope,
  source: UserPath,
  copy: UserPath,
  { signal, keepCreated, staging, known, room, ifRevision, beforeStoring }: CopyFileOptions,
): Promise<CopiedFile> {
  const { backend, backendPath } = scope.locate(source)
  const reading = await forChange(source, () => backend.read(backendPath, { signal }))
  const { size, created, modified, revision }: FileEntry = await fileEntry(scope, source, reading.entry)
  const hash = createHash('sha256')
  const atEnd = async () => {
    checkCopied(revision, ifRevision)
    await beforeStoring?.(size)
  }
  const content = hashing(reading.content, hash, atEnd)
  // The chunks of the reading are hashed, and belong to nobody else.
  const options = definedOnly({ signal, size, modified, freeChunks: true })
  const { file, former } = await writeLocked(scope, copy, content, options, {
    room,
    staging,
    known,
    ...(keepCreated && { created }),
  })
  const verify = async () => hash.digest('hex') === (await hashOf(scope, copy, signal))
  return { from: revision, to: file.revision, former, verify }
}

/** Another program may have changed the file after its version was checked. */
function checkCopied(revision: string, expected: string | undefined): void {
  if (expected !== undefined && revision !== expected) throw versionError()
}

async function* hashing(
  content: AsyncIterable<Uint8Array>,
  hash: Hash,
  atEnd: () => Promise<void>,
): AsyncIterable<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
  await atEnd()
}

async function hashOf(scope: Scope, path: UserPath, signal: AbortSignal): Promise<string> {
  const { backend, backendPath } = scope.locate(path)
  const { content } = await backend.read(backendPath, { reuseBuffers: true, signal })
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk)
  return hash.digest('hex')
}
