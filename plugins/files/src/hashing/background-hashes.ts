import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '@nodekeep/plugin-sdk'
import type { StampedEntry, TreeState } from '../entries/entry-reader.ts'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { childOf, type UserPath } from '../paths/user-path.ts'
import type { FileHashes } from './file-hashes.ts'

/** Milliseconds without a change of a user after which their files are hashed. Writes have the disk to themselves until then. */
const quietMs = 2000

/** Milliseconds after which the files are hashed although they keep changing. */
const longestMs = 60_000

/** Entries of the index that are looked at in one turn of the event loop. */
const pageSize = 300

interface BackgroundHashesServices {
  readonly journal: Journal
  readonly mounts: Mounts
  readonly hashes: FileHashes
  /** Whether the files of a user are hashed. */
  readonly isWanted: (userUuid: string) => boolean
  readonly bytesPerSecond: number
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
  readonly log: Pick<Log, 'warn' | 'debug'>
}

/** A user with new changes: the times of the first and the last one, in milliseconds of `performance.now()`. */
interface Waiting {
  readonly first: number
  last: number
}

/**
 * Hashes the files of users in the background, one after the other, so that nobody need wait for it, and clients need not send what the
 * node has already. It follows the index: all its files without a hash first, and those that change from then on.
 */
export class BackgroundHashes {
  readonly #services: BackgroundHashesServices
  readonly #waiting = new Map<string, Waiting>()
  /** The stamps up to which the trees of each user were looked at, by the id of the tree. */
  readonly #stamps = new Map<string, Map<number, number>>()
  #running: Promise<void> | null = null

  constructor(services: BackgroundHashesServices) {
    this.#services = services
  }

  /** Takes note that a user may have files without a hash. */
  notice(userUuid: string): void {
    const { signal, isWanted } = this.#services
    if (signal.aborted) return
    const now = performance.now()
    const waiting = this.#waiting.get(userUuid)
    if (waiting !== undefined) waiting.last = now
    else if (isWanted(userUuid)) this.#waiting.set(userUuid, { first: now, last: now })
    if (this.#waiting.size > 0) this.#running ??= this.#run()
  }

  /** Waits for the end of running work, after the signal. */
  async stop(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal, log, isWanted } = this.#services
    while (this.#waiting.size > 0 && !signal.aborted) {
      const userUuid = this.#nextUser()
      if (userUuid === null) {
        await delay(quietMs / 2, undefined, { signal, ref: false }).catch(() => {})
        continue
      }
      this.#waiting.delete(userUuid)
      // The user may have been erased.
      if (!isWanted(userUuid)) this.#stamps.delete(userUuid)
      else
        await this.#update(userUuid).catch((error) => {
          if (!signal.aborted) log.warn({ err: error, user: userUuid }, 'Files cannot be hashed now.')
        })
    }
    this.#running = null
  }

  /** A user whose files have been quiet for long enough. */
  #nextUser(): string | null {
    const now = performance.now()
    for (const [userUuid, { first, last }] of this.#waiting) {
      if (now - last > quietMs || now - first > longestMs) return userUuid
    }
    return null
  }

  async #update(userUuid: string): Promise<void> {
    const { mounts } = this.#services
    const stamps = this.#stamps.get(userUuid) ?? new Map<number, number>()
    this.#stamps.set(userUuid, stamps)
    for (const mount of mounts.points) await this.#updateMount(userUuid, mount, stamps)
  }

  async #updateMount(userUuid: string, mount: UserPath, stamps: Map<number, number>): Promise<void> {
    const { journal, mounts, signal } = this.#services
    for (;;) {
      const reader = await journal.entriesOf(userUuid)
      const tree: TreeState | null = reader.tree(userUuid, mounts.storageAt(mount))
      if (tree === null) return
      const page = reader.changedAfter(tree, stamps.get(tree.id) ?? 0, pageSize)
      if (page.length === 0) return
      for (const entry of page) {
        await this.#take(userUuid, mount, entry)
        stamps.set(tree.id, entry.stamp)
      }
      signal.throwIfAborted()
      await nextTurn()
    }
  }

  async #take(userUuid: string, mount: UserPath, { id, type, sha256 }: StampedEntry): Promise<void> {
    if (type !== 'file' || sha256 !== null) return
    const { journal, mounts, hashes, bytesPerSecond, signal, log } = this.#services
    signal.throwIfAborted()
    const names = (await journal.entriesOf(userUuid)).namesOf(id)
    if (names === null) return
    const path = names.reduce(childOf, mount)
    if (mounts.pointOf(path) !== mount) return
    await hashes.hashInBackground(userUuid, path, { bytesPerSecond, signal }).catch((error) => {
      signal.throwIfAborted()
      log.debug({ err: error, user: userUuid }, 'A file cannot be hashed now.')
    })
  }
}
