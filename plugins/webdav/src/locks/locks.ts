import { randomUUID } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction, NodekeepError } from '@nodekeep/plugin-sdk'
import { isBelow } from '../dav-paths.ts'
import { Locked } from '../errors.ts'

/** A lock as a client asks for it. */
export interface NewLock {
  readonly path: string
  /** Whether it also locks everything below a folder (depth "infinity"). */
  readonly isDeep: boolean
  readonly isShared: boolean
  /** The XML element of the client about its owner; empty if it sent none. */
  readonly owner: string
  /** How long it lasts after its last renewal. */
  readonly seconds: number
}

/** A lock of a user's file or folder. The path need not exist. */
export interface Lock extends NewLock {
  /** A URI that names it, such as `urn:uuid:…`. */
  readonly token: string
  readonly expires: Date
}

/** A change of files, for locks that may be in its way. */
export interface LockedChange {
  /** Files and folders that change themselves, but nothing below them. */
  readonly changed?: readonly string[]
  /** Files and folders that change, with everything below them. */
  readonly trees?: readonly string[]
  /** Folders that get or lose an entry. */
  readonly folders?: readonly string[]
}

/** The locks of all users (RFC 4918, section 6). They survive a restart. */
export class Locks {
  readonly #connection: DatabaseSync
  /** Each request that changes files runs it twice. */
  readonly #ofUser: StatementSync
  readonly #most: number

  /** @param most locks of a user */
  constructor(connection: DatabaseSync, most: number) {
    this.#connection = connection
    this.#ofUser = connection.prepare('SELECT * FROM locks WHERE user = ? AND expires > ? ORDER BY rowid')
    this.#most = most
  }

  /** The locks of a user that have not expired. */
  of(userUuid: string): Lock[] {
    return this.#ofUser.all(userUuid, Date.now()).map(lockOf)
  }

  /**
   * Makes a lock.
   *
   * @throws Locked if another one is in its way; NodekeepError INSUFFICIENT_STORAGE if the user has too many
   */
  create(userUuid: string, lock: NewLock): Lock {
    return inTransaction(this.#connection, () => {
      this.#connection.prepare('DELETE FROM locks WHERE expires <= ?').run(Date.now())
      const others = this.of(userUuid)
      const inTheWay = others.filter((other) => conflict(lock, other)).map(({ path }) => path)
      if (inTheWay.length > 0) throw new Locked('no-conflicting-lock', [...new Set(inTheWay)])
      if (others.length >= this.#most)
        throw new NodekeepError(
          'INSUFFICIENT_STORAGE',
          `You have ${this.#most} locks (webdav.locksPerUser). Close files in other programs.`,
        )
      const made = { ...lock, token: `urn:uuid:${randomUUID()}`, expires: inSeconds(lock.seconds) }
      this.#connection
        .prepare(
          `INSERT INTO locks (token, user, path, is_deep, is_shared, owner, seconds, expires)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          made.token,
          userUuid,
          made.path,
          Number(made.isDeep),
          Number(made.isShared),
          made.owner,
          made.seconds,
          made.expires.getTime(),
        )
      return made
    })
  }

  /** Lets a lock last for a number of seconds from now on. */
  renew(userUuid: string, lock: Lock, seconds: number): Lock {
    const renewed = { ...lock, seconds, expires: inSeconds(seconds) }
    this.#connection
      .prepare('UPDATE locks SET seconds = ?, expires = ? WHERE token = ? AND user = ?')
      .run(seconds, renewed.expires.getTime(), lock.token, userUuid)
    return renewed
  }

  remove(userUuid: string, token: string): void {
    this.#connection.prepare('DELETE FROM locks WHERE token = ? AND user = ?').run(token, userUuid)
  }

  /** Removes the locks of what is gone (RFC 4918, sections 6.1 and 7.5): at the path and below it, or only below it. */
  removeWithin(userUuid: string, path: string, { onlyBelow = false } = {}): void {
    for (const lock of this.of(userUuid))
      if (isBelow(lock.path, path) || (!onlyBelow && lock.path === path)) this.remove(userUuid, lock.token)
  }

  /**
   * Refuses a change that a lock forbids. For each locked file or folder, the client must have sent the token of one of its locks.
   *
   * @param submitted the tokens that the client sent
   * @throws Locked
   */
  check(userUuid: string, submitted: ReadonlySet<string>, change: LockedChange): void {
    const locks = this.of(userUuid)
    const { changed = [], trees = [], folders = [] } = change
    const concerned = new Set([...changed, ...trees, ...folders])
    for (const { path } of locks) if (trees.some((tree) => isBelow(path, tree))) concerned.add(path)
    const inTheWay = new Set<string>()
    for (const path of concerned) {
      const covering = coveringLocks(locks, path)
      if (covering.length > 0 && !covering.some(({ token }) => submitted.has(token)))
        for (const lock of covering) inTheWay.add(lock.path)
    }
    if (inTheWay.size > 0) throw new Locked('lock-token-submitted', [...inTheWay])
  }

  erase(userUuid: string): void {
    this.#connection.prepare('DELETE FROM locks WHERE user = ?').run(userUuid)
  }
}

/** The locks of a path: its own, and those of depth "infinity" of folders above it. */
export function coveringLocks(locks: readonly Lock[], path: string): Lock[] {
  return locks.filter((lock) => covers(lock, path))
}

function covers(lock: NewLock, path: string): boolean {
  return lock.path === path || (lock.isDeep && isBelow(path, lock.path))
}

/** Whether two locks cannot be together (RFC 4918, section 6.2): they have a file or folder in common, and one of them is exclusive. */
function conflict(one: NewLock, other: NewLock): boolean {
  return !(one.isShared && other.isShared) && (covers(one, other.path) || covers(other, one.path))
}

function inSeconds(seconds: number): Date {
  return new Date(Date.now() + seconds * 1000)
}

function lockOf(row: Record<string, unknown>): Lock {
  return {
    token: String(row.token),
    path: String(row.path),
    isDeep: row.is_deep === 1,
    isShared: row.is_shared === 1,
    owner: String(row.owner),
    seconds: Number(row.seconds),
    expires: new Date(Number(row.expires)),
  }
}
