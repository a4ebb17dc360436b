import { defineEvent } from '../event.ts'
import { defineService } from '../service.ts'

/** One change of a user's files. */
export interface FileChange {
  /** Position in the journal: a positive integer that only grows. Numbers may be missing. */
  readonly seq: number
  readonly op: 'write' | 'mkdir' | 'delete' | 'move'
  /** Absolute path within the user's files; for `move` the new one. */
  readonly path: string
  /** The former path of a `move`. */
  readonly source?: string
  /** Bytes, for `write`. */
  readonly size?: number
  /** The revision that the change made, equal to the entity tag without its quotes. */
  readonly revision?: string
  /**
   * SHA-256 of the content, hexadecimal, if the journal knows it. The journal of the `files` feature does not: compare
   * revisions instead.
   */
  readonly hash?: string
  /** The device or client that made the change, if it gave its name. */
  readonly by?: string
  readonly at: Date
}

/** The journal of all changes of files. Its entries are durable, and so are the changes that they describe. */
export interface ChangeLog {
  /** Identifies the journal. Numbers from another epoch are void, such as after a restore. */
  readonly epoch: string
  /** The number of a user's newest change; 0 when there is none. */
  head(userUuid: string): Promise<number>
  /**
   * The changes of a user after a number, oldest first.
   *
   * @param limit maximum number of changes; 1,000 when not given
   * @throws NodekeepError CONFLICT when changes after the number were deleted already
   */
  read(userUuid: string, after: number, limit?: number): Promise<FileChange[]>
}

/** The journal of the `files` feature. */
export const Changes = defineService<ChangeLog>('change-log', 1)

/** Announces the change `seq` of a user. An event can be missed, so read the changes from the journal. */
export const FileChanged = defineEvent<{ readonly userUuid: string; readonly seq: number }>('file.changed')
