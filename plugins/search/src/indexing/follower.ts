import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import {
  type FileIndex,
  type Log,
  messageOf,
  type UserDirectory,
  type UserFileIndex,
} from '@nodekeep/plugin-sdk'
import type { Databases } from '../database/databases.ts'
import { forgetGone } from './forget-gone.ts'
import { learnedEntry } from './learned-entry.ts'

/** Entries that are read in one turn of the event loop. */
const pageSize = 200

/** Milliseconds between two looks at all users. */
const roundMs = 60 * 60 * 1000

/** Milliseconds that a person waits for a look. */
const lookMs = 100

/** Milliseconds between two looks at a user whose index of files is not complete, or whose last look failed, at first and at most. */
const firstPauseMs = 250
const longestPauseMs = 5 * 60 * 1000

/** Milliseconds between two sweeps of a user. */
const sweepMs = 24 * 60 * 60 * 1000

interface FollowerServices {
  readonly index: FileIndex
  readonly users: Pick<UserDirectory, 'get' | 'list'>
  readonly databases: Databases
  /** Called when files of a user may wait for their extraction. */
  readonly onLearned: (userUuid: string) => void
  readonly log: Pick<Log, 'warn'>
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
}

/** A user whose files are followed now. */
interface Following {
  done: Promise<void>
  /** Whether something may have changed since it began. */
  mustRepeat: boolean
}

/** Follows the index of files, and tells the databases what is new. */
export class Follower {
  readonly #services: FollowerServices
  readonly #following = new Map<string, Following>()
  /** Users of whom everything was learned since the start. */
  readonly #upToDate = new Set<string>()
  /** Milliseconds after which users are looked at again whose index of files is not complete: what comes to it is not announced. */
  readonly #pauses = new Map<string, number>()
  /** Why the last look at a user failed. */
  readonly #problems = new Map<string, string>()
  #round: NodeJS.Timeout | undefined
  #isRound = false

  constructor(services: FollowerServices) {
    this.#services = services
  }

  /** A sentence that tells why the changes of a user's files are not learned now; null if all is well. */
  get problem(): string | null {
    const [first = null] = this.#problems.values()
    return first
  }

  /** Follows all users from now on. */
  start(): void {
    this.#lookAtAll()
    this.#round = setInterval(() => this.#lookAtAll(), roundMs).unref()
  }

  /** Waits until nothing runs any more, after the signal has aborted. */
  async stop(): Promise<void> {
    clearInterval(this.#round)
    await Promise.allSettled([...this.#following.values()].map(({ done }) => done))
  }

  /** Whether all changes of a user until the last look are known to the search. */
  isUpToDate(userUuid: string): boolean {
    return this.#upToDate.has(userUuid) && !this.#following.has(userUuid)
  }

  /**
   * Looks at a user now, so that a person finds what was just stored. A first look, which takes long with many files, goes on after the
   * promise has resolved.
   */
  async look(userUuid: string): Promise<void> {
    this.notice(userUuid)
    const waited = new AbortController()
    const late = delay(lookMs, undefined, { signal: waited.signal, ref: false }).catch(() => {})
    await Promise.race([this.#following.get(userUuid)?.done, late])
    waited.abort()
  }

  /** Takes note that files of a user may have changed. */
  notice(userUuid: string): void {
    const following = this.#following.get(userUuid)
    if (following !== undefined) {
      following.mustRepeat = true
      return
    }
    const begun: Following = { done: Promise.resolve(), mustRepeat: false }
    this.#following.set(userUuid, begun)
    begun.done = this.#followAll(userUuid, begun)
  }

  /** Looks at all users, and removes the databases of others, as after a restore. */
  async #lookAtAll(): Promise<void> {
    const { users, databases, log, signal } = this.#services
    if (this.#isRound) return
    this.#isRound = true
    try {
      // Before the users: somebody may come, and have files, while they are listed.
      const stored = await databases.users()
      const known = new Set<string>()
      for await (const { uuid } of users.list()) {
        signal.throwIfAborted()
        known.add(uuid)
        // An index that cannot be written holds up no other user. The look tells of it.
        if (databases.has(uuid)) await databases.call(uuid, 'retry').catch(() => {})
        this.notice(uuid)
        // One after the other.
        await this.#following.get(uuid)?.done
      }
      for (const uuid of stored) if (!known.has(uuid)) await databases.erase(uuid)
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'The search cannot look for changes of files now.')
    } finally {
      this.#isRound = false
    }
  }

  async #followAll(userUuid: string, following: Following): Promise<void> {
    const { index, users, databases, onLearned, log, signal } = this.#services
    try {
      let isComplete: boolean
      do {
        following.mustRepeat = false
        if (databases.isErased(userUuid) || (await users.get(userUuid)) === null) {
          this.#problems.delete(userUuid)
          return
        }
        isComplete = await index.for({ uuid: userUuid }).isComplete()
        await this.#follow(userUuid)
        onLearned(userUuid)
      } while (following.mustRepeat)
      this.#problems.delete(userUuid)
      if (isComplete) {
        this.#upToDate.add(userUuid)
        this.#pauses.delete(userUuid)
      } else this.#lookAgain(userUuid)
    } catch (error) {
      if (signal.aborted || databases.isErased(userUuid)) return
      const problem = messageOf(error)
      if (problem !== this.#problems.get(userUuid))
        log.warn({ err: error, userUuid }, 'The search cannot look for changes of files now. It tries again.')
      this.#problems.set(userUuid, problem)
      this.#lookAgain(userUuid)
    } finally {
      this.#following.delete(userUuid)
    }
  }

  #lookAgain(userUuid: string): void {
    this.#upToDate.delete(userUuid)
    const pause = this.#pauses.get(userUuid) ?? firstPauseMs
    this.#pauses.set(userUuid, Math.min(2 * pause, longestPauseMs))
    setTimeout(() => {
      if (!this.#services.signal.aborted) this.notice(userUuid)
    }, pause).unref()
  }

  async #follow(userUuid: string): Promise<void> {
    const { index, databases, onLearned, signal } = this.#services
    const ofUser = index.for({ uuid: userUuid })
    if (!databases.has(userUuid) && (await hasNoEntries(ofUser))) return
    let { cursor } = await databases.call(userUuid, 'followed')
    for (;;) {
      signal.throwIfAborted()
      const page = await ofUser.changed(cursor, pageSize)
      if (page.cursor === cursor) break
      const isTaken = await databases.call(
        userUuid,
        'learn',
        page.entries.map(learnedEntry),
        cursor,
        page.cursor,
      )
      cursor = isTaken ? page.cursor : (await databases.call(userUuid, 'followed')).cursor
      onLearned(userUuid)
    }
    const { swept } = await databases.call(userUuid, 'followed')
    const now = Date.now()
    if (swept > now || now - swept >= sweepMs) await this.#sweep(userUuid)
  }

  /**
   * Looks at everything again: forgets what is gone, of which nobody tells, and learns what was forgotten and has come back with its folder from
   * the trash.
   */
  async #sweep(userUuid: string): Promise<void> {
    const { index, databases, signal } = this.#services
    const ofUser = index.for({ uuid: userUuid })
    const began = Date.now()
    const { lost } = await databases.call(userUuid, 'followed')
    for (let cursor = ''; ; ) {
      signal.throwIfAborted()
      const page = await ofUser.changed(cursor, pageSize)
      if (page.cursor === cursor) break
      await databases.call(userUuid, 'learn', page.entries.map(learnedEntry), null, '')
      cursor = page.cursor
    }
    for (let after = 0; ; ) {
      const page = await databases.call(userUuid, 'page', after, pageSize)
      const gone: string[] = []
      for (const { number, id } of page) {
        signal.throwIfAborted()
        if ((await ofUser.entry(id)) === null) gone.push(id)
        after = number
      }
      await forgetGone(this.#services, userUuid, gone)
      if (page.length < pageSize) break
      await nextTurn()
    }
    await databases.call(userUuid, 'swept', began, lost)
  }
}

/** No database is made for a user without files. */
async function hasNoEntries(index: UserFileIndex): Promise<boolean> {
  for (let cursor = ''; ; ) {
    const page = await index.changed(cursor, pageSize)
    if (page.entries.length > 0) return false
    if (page.cursor === cursor) return true
    cursor = page.cursor
  }
}
