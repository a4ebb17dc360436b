import type { FileChange } from '@nodekeep/plugin-sdk'

/** A change that is about to happen. */
export interface ChangeIntent {
  readonly userUuid: string
  readonly op: FileChange['op']
  /** Absolute path within the user's files; for `move` the new one. */
  readonly path: string
  /** The former path of a `move`. */
  readonly source?: string
  /** Bytes. */
  readonly size?: number
  /** The revision that the change makes; for a `move` of a file, the revision that it keeps. */
  readonly revision?: string
  /** The device or client that makes the change. */
  readonly by?: string
  /** When the file that this change replaces was created: the new file keeps this date. Needs `revision`. */
  readonly created?: Date
  /** Whether `path` is the staging path of a move across mounts, which the next start removes after a crash. */
  readonly isStaging?: boolean
}

/** An intent with its number in the journal. Its outcome is still open. */
export interface PendingIntent extends ChangeIntent {
  readonly seq: number
}

/** A row of the table `changes`. Times are milliseconds since 1970. */
export interface ChangeRow {
  readonly seq: number
  readonly user: string
  readonly op: FileChange['op']
  readonly path: string
  readonly source: string | null
  readonly size: number | null
  readonly revision: string | null
  readonly by: string | null
  readonly created: number | null
  readonly at: number
}

/** The columns of a committed change that other tables depend on. */
export type CommittedChange = Pick<ChangeRow, 'user' | 'op' | 'path' | 'source' | 'revision' | 'created'>

export function changeOf(row: ChangeRow): FileChange {
  return { seq: row.seq, ...commonFields(row), at: new Date(row.at) }
}

export function intentOf(row: ChangeRow): PendingIntent {
  const created = row.created === null ? {} : { created: new Date(row.created) }
  return { seq: row.seq, userUuid: row.user, ...commonFields(row), ...created }
}

function commonFields({ op, path, source, size, revision, by }: ChangeRow) {
  return {
    op,
    path,
    ...(source !== null && { source }),
    ...(size !== null && { size }),
    ...(revision !== null && { revision }),
    ...(by !== null && { by }),
  }
}
