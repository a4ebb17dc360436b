import { defineEvent } from '../event.ts'
import { defineService } from '../service.ts'

/** One change of a user's files. */
export interface FileChange {
  /** Position in the journal: a positive integer that only rises. Numbers may be missing. */
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
   * SHA-256 of the content, hexadecimal, where the journal knows it. The one of the `files` feature doesn't: tell contents
   * apart by their revisions.
   */
  readonly hash?: string
  /** Which device or client made the change, where it said so. */
  readonly by?: string
  readonly at: Date
}

/** The journal of everything that happened to files. What is in it is durable, and so is what it speaks of. */
export interface ChangeLog {
  /** Identifies the journal. Another epoch means that numbers of the former one are void (after a restore). */
  readonly epoch: string
  /** The newest number of a user's changes, 0 when there are none. */
  head(userUuid: string): Promise<number>
  /**
   * The changes of a user after a number, oldest first.
   *
   * @param limit at most this many, 1,000 when not given
   * @throws NodekeepError CONFLICT when the number is older than what the journal still keeps
   */
  read(userUuid: string, after: number, limit?: number): Promise<FileChange[]>
}

/** The journal of the `files` feature. */
export const Changes = defineService<ChangeLog>('change-log', 1)

/** Says "look past this number": the journal itself is the truth. */
export const FileChanged = defineEvent<{ readonly userUuid: string; readonly seq: number }>('file.changed')
