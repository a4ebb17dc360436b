import { defineEvent } from '../event.ts'
import { defineService } from '../service.ts'

/**
 * A place in the history of a user's files: just after a change. Store it as a whole. A number alone does not tell a history from
 * another one: a data folder that was put back, as with the snapshot of a disk, counts on from an older number.
 */
export interface ChangePosition {
  /** Identifies the journal. */
  readonly epoch: string
  /** The number of the change; 0 before the first one. */
  readonly seq: number
  /** The id of the change; empty before the first one. */
  readonly id: string
}

/**
 * The maker of a change of files, as the node knows it: no client chooses this. The id is no secret, and means the same when what it
 * names has ended. Names are those of the time of the change. They are untrusted text.
 */
export interface ChangeMaker {
  /**
   * - `session`, `token`: a program with a session or an API token of the user, such as a browser or a device
   * - `program`: a WebAssembly program that the user ran
   * - `plugin`: a plugin, by itself or because a user asked
   */
  readonly kind: 'session' | 'token' | 'program' | 'plugin'
  /**
   * The id of the session or API token in the user's list, the SHA-256 of the module in hexadecimal digits, or the id of the plugin.
   * 1 to 100 characters.
   */
  readonly id: string
  /** The program that signed in, the name of the API token, or the name of the module's file, if it was known. 1 to 255
   * characters. */
  readonly name?: string
  /** The UUID of the user who asked for the change. Absent if a plugin made it by itself. */
  readonly user?: string
}

/** One change of a user's files. */
export interface FileChange {
  /** Position in the journal: a positive integer that only grows. Numbers may be missing. */
  readonly seq: number
  /** The change has this id and no other one has, also in another history with the same numbers. At most 40 characters. */
  readonly id: string
  readonly op: 'write' | 'mkdir' | 'delete' | 'move'
  /** Absolute path within the user's files; for `move` the new one. */
  readonly path: string
  /** The former path of a `move`. */
  readonly source?: string
  /** Bytes, for `write`. */
  readonly size?: number
  /** The revision that the change made, equal to the entity tag without its quotes. */
  readonly revision?: string
  /** When the content was modified, if the file still has the revision, and its time is known. */
  readonly modified?: Date
  /** SHA-256 of the content, hexadecimal, if the file still has the revision, and the hash is known. */
  readonly hash?: string
  /** The name of the device or client that made the change, if it gave one. `disk` for a change of another program. */
  readonly by?: string
  /** Absent for changes of other programs, and for those that a former version of the node recorded. */
  readonly maker?: ChangeMaker
  /** The changes of one upload, one restore or one run of a program have the same group. */
  readonly group?: string
  readonly at: Date
}

/** The journal of all changes of files. Its entries and the changes that they describe are durable. */
export interface ChangeLog {
  /**
   * Identifies the journal. It changes when the journal starts again from nothing, as after a restore or with other mounts.
   * Positions of another epoch are invalid: list the files again, and go on from `head`.
   */
  readonly epoch: string
  /**
   * Follows what other programs change in a user's files. From when this has resolved, each of their changes gets a row with
   * `by: 'disk'`, within seconds, or after the next start if the node was down. Changes before that get none, so list the
   * files after it. A rename is a deletion and a write. Of a path that changes again and again, some states have no row; the
   * last one has. Storages that other programs cannot change need no following.
   *
   * It holds for 30 days after the last call, also over restarts. Call it whenever you begin to read, from `onServing` on.
   * The first call for a user takes as long as listing all their files; later calls resolve at once, also after a restart.
   * While a storage is out of reach, it is not waited for.
   */
  follow(userUuid: string): Promise<void>
  /** The position after a user's newest change. */
  head(userUuid: string): Promise<ChangePosition>
  /**
   * Lists the changes of a user after a position, oldest first. The next position has the `epoch` of this one, and the `seq` and
   * `id` of the last change.
   *
   * @param limit maximum number of changes; default: 1,000
   * @throws NodekeepError CONFLICT if the position belongs to another history, or if changes after it are already deleted. Then
   *   list the files again, and continue from `head`
   */
  read(userUuid: string, after: ChangePosition, limit?: number): Promise<FileChange[]>
  /**
   * Keeps a user's changes after a number, however old they become, because a reader still needs them. A later call of the
   * same reader replaces the number. A reader that does not call for a year is forgotten.
   *
   * @param reader names the reader, such as `file-sync`
   * @param after `null` when the reader needs nothing more
   */
  retainFrom(userUuid: string, reader: string, after: number | null): Promise<void>
  /**
   * Tells why changes of a user are held back. The outcome of a change is unknown while its mount does not answer, and no
   * later change is shown before it. `null` when nothing is held back.
   */
  stalled(userUuid: string): { readonly mount: string; readonly since: Date } | null
}

/** The journal of the `files` feature. */
export const Changes = defineService<ChangeLog>('change-log', 3)

/**
 * Announces that readers may find new changes of a user. `seq` is the change that took effect, or that no longer holds later
 * changes back. An event can be missed, so read the changes from the journal.
 */
export const FileChanged = defineEvent<{ readonly userUuid: string; readonly seq: number }>('file.changed')
