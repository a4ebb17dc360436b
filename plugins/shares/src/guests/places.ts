import {
  type ChangeLog,
  type ChangePosition,
  type FileChange,
  type FileIndex,
  type FilesService,
  type IndexedEntry,
  isNodekeepError,
  NodekeepError,
  parentOf,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { Share } from '../share.ts'
import type { ShareTable } from '../tables/share-table.ts'
import { noRoom } from './no-room.ts'
import { noSuchLink, nothingThere } from './not-there.ts'

/** Attempts of work in a folder that moves meanwhile. */
const attempts = 5

/** Changes that are read at once. */
const pageSize = 1000

interface PlacesServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly changes: ChangeLog
  readonly shares: ShareTable
  /** Called when the entry of a link is gone. */
  readonly onGone: (share: Share) => void
}

/** A path of the maker's files, and what is below it. */
export interface Place {
  readonly files: UserFiles
  /** The path of the shared file or folder now. */
  readonly root: string
  /** The path of the wanted entry: the root, or below it. */
  readonly path: string
  /** Where the journal was before the root was found. */
  readonly since: ChangePosition
}

/** Finds the entries of links, wherever they have moved. */
export class Places {
  readonly #services: PlacesServices

  constructor(services: PlacesServices) {
    this.#services = services
  }

  /**
   * Returns the entry of an open link; null if the link does not work. If the entry is gone, the link is closed for good: an entry
   * that comes back from the trash is shared when its maker says so.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if the entry is not in the index, and the index is made anew or the disk of the entry is away
   */
  async entryOf(share: Share): Promise<IndexedEntry | null> {
    const { index, shares, onGone } = this.#services
    const ofUser = index.for({ uuid: share.userUuid })
    const entry = share.entry === null ? await ofUser.at(share.path) : await ofUser.entry(share.entry)
    if (entry === null) {
      if (!(await this.#isIndexed(share))) throw notKnownYet()
      if (!share.isClosed) onGone(share)
      return null
    }
    if (share.isClosed) return null
    if (entry.id !== share.entry || entry.path !== share.path)
      shares.change(share.id, { entry: entry.id, path: entry.path })
    return entry
  }

  /**
   * Does work at a path of a link. If the shared folder was moved meanwhile, another folder may have been at its path: then the result
   * does not count, and the work is done again.
   *
   * @param below the path below the shared entry: empty for itself, otherwise it begins with `/`
   * @param discard frees a result that does not count
   * @throws NodekeepError NOT_FOUND, with a message that names no path; what the work throws else
   */
  async at<T>(
    share: Share,
    below: string,
    work: (place: Place) => Promise<T>,
    discard: (result: T) => Promise<void> = async () => {},
  ): Promise<T> {
    const files = this.#services.files.for({ uuid: share.userUuid })
    checkBelow(below)
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const since = await this.#services.changes.head(share.userUuid)
      const { path: root } = await this.#current(share)
      try {
        const result = await work({ files, root, path: `${root}${below}`, since })
        const stayed = await this.#stayed(share, root, since).catch(async (error) => {
          await discard(result)
          throw error
        })
        if (stayed) return result
        await discard(result)
      } catch (error) {
        if (await this.#stayed(share, root, since)) throw withoutPath(error)
      }
    }
    throw beingMoved()
  }

  /**
   * Finds out whether work at a place has stored a file, although its outcome was lost, as when the node was killed. A file that was stored while
   * the folder moved is taken back, as by `at`.
   *
   * @param since that of the place
   * @param group that of the changes of the work, which has written one file at most
   * @throws NodekeepError SERVICE_UNAVAILABLE if it is not known yet, because a disk is away
   */
  async hasStored(userUuid: string, since: ChangePosition, group: string): Promise<boolean> {
    if (this.#services.changes.stalled(userUuid) !== null) throw notKnownYet()
    const written = await this.#writeOf(userUuid, since, group).catch(unlessOtherHistory)
    if (written === undefined) return false
    const { path, revision } = written
    for await (const change of this.#changesSince(userUuid, since)) {
      if (change.seq >= written.seq) return true
      if (takesAway(change, parentOf(path))) break
    }
    const conditions = { permanent: true, group, ...(revision !== undefined && { ifRevision: revision }) }
    await this.#services.files.for({ uuid: userUuid }).remove(path, conditions).catch(unlessChanged)
    return false
  }

  /** The last write of a group since a position, unless the group took it back. */
  async #writeOf(userUuid: string, since: ChangePosition, group: string): Promise<FileChange | undefined> {
    let written: FileChange | undefined
    for await (const change of this.#changesSince(userUuid, since)) {
      if (change.group !== group) continue
      if (change.op === 'write') written = change
      else if (change.op === 'delete' && change.path === written?.path) written = undefined
    }
    return written
  }

  /** Whether the index has everything on the mount where the entry of a link was last. Other mounts may be out of reach. */
  async #isIndexed({ userUuid, path }: Share): Promise<boolean> {
    const { index } = this.#services
    const ofUser = index.for({ uuid: userUuid })
    // It also lets the index be completed.
    if (await ofUser.isComplete()) return true
    for (let folder = folderOf(path); folder !== ''; folder = folderOf(folder)) {
      const isComplete = await ofUser.usage(folder).then((usage) => usage.isComplete, unlessMissing)
      // A folder that the index does not have is the place of no mount.
      if (isComplete !== undefined) return isComplete
    }
    for await (const { userUuid: user, mount, isComplete } of index.usage())
      if (user === userUuid && mount === '/') return isComplete
    return false
  }

  /** The entry of a link that may have been changed meanwhile. */
  async #current({ id }: Share): Promise<IndexedEntry> {
    const share = this.#services.shares.get(id)
    const entry = share === null ? null : await this.entryOf(share)
    if (entry === null) throw noSuchLink()
    return entry
  }

  /** Whether the entry of a link was at a path all the time since a position: it is not enough that it is there again. */
  async #stayed({ id, userUuid }: Share, path: string, since: ChangePosition): Promise<boolean> {
    const share = this.#services.shares.get(id)
    // It waits for the changes that have begun.
    if (share === null || (await this.entryOf(share))?.path !== path) return false
    for await (const change of this.#changesSince(userUuid, since)) if (takesAway(change, path)) return false
    return true
  }

  async *#changesSince(userUuid: string, since: ChangePosition): AsyncGenerator<FileChange, void, undefined> {
    for (let position = since; ; ) {
      const page = await this.#services.changes.read(userUuid, position, pageSize)
      yield* page
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      position = { epoch: position.epoch, seq: last.seq, id: last.id }
    }
  }
}

/** Whether a change may have put something else at a path. */
function takesAway({ op, path, source }: FileChange, of: string): boolean {
  const isAbove = (folder: string) => of === folder || of.startsWith(`${folder}/`)
  if (op === 'delete') return isAbove(path)
  return op === 'move' && (isAbove(path) || (source !== undefined && isAbove(source)))
}

/** The folder of an entry; empty for the root. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

/** The journal began anew, or does not go back so far. */
function unlessOtherHistory(error: unknown): undefined {
  if (!isNodekeepError(error) || error.code !== 'CONFLICT') throw error
}

/** The maker has moved, removed or changed the file meanwhile. */
function unlessChanged(error: unknown): void {
  if (!isNodekeepError(error) || (error.code !== 'NOT_FOUND' && error.code !== 'PRECONDITION_FAILED'))
    throw error
}

function unlessMissing(error: unknown): undefined {
  if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
}

/** The rules of paths are those of files, but the message of a refusal must not have the path of the shared folder. */
function checkBelow(below: string): void {
  if (below === '') return
  const names = below.split('/').slice(1)
  if (!below.startsWith('/') || names.some((name) => name === '' || name === '.' || name === '..'))
    throw nothingThere()
}

/** Errors of files name the path of the maker. Guests learn of them only that it did not work. */
function withoutPath(error: unknown): unknown {
  if (!isNodekeepError(error)) return error
  switch (error.code) {
    case 'NOT_FOUND':
    case 'VALIDATION_ERROR':
    case 'CONFLICT':
      return nothingThere()
    case 'RANGE_NOT_SATISFIABLE':
    case 'PRECONDITION_FAILED':
    case 'REQUEST_TIMEOUT':
    case 'UNPROCESSABLE':
      return error
    case 'INSUFFICIENT_STORAGE':
      return noRoom(error)
    case 'PAYLOAD_TOO_LARGE':
      return new NodekeepError('PAYLOAD_TOO_LARGE', 'The file is too large.', { cause: error })
    default:
      return new NodekeepError('SERVICE_UNAVAILABLE', 'The files cannot be read now. Try again later.', {
        cause: error,
        logged: error.logged,
        headers: { 'retry-after': '5' },
      })
  }
}

/** The refusal of work in a folder that is moved meanwhile. */
export function beingMoved(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The folder is being moved. Try again.', {
    headers: { 'retry-after': '1' },
  })
}

function notKnownYet(): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The node looks for its files, or a disk is away. Try again in a minute.',
    { headers: { 'retry-after': '30' } },
  )
}

/** An entry of a disk that is away is found later. */
export function unlessUnavailable(error: unknown): undefined {
  if (!isNodekeepError(error) || error.code !== 'SERVICE_UNAVAILABLE') throw error
}
