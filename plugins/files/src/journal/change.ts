import type { ChangeMaker, FileChange, FileChangeOptions } from '@nodekeep/plugin-sdk'

/** `by` of changes of other programs. No device has this name: readers skip the changes of their own device. */
export const byOtherPrograms = 'disk'

/**
 * The part of a change in a copy, which is staged beside its destination. Readers see no such change.
 *
 * - `begin` makes the staging path. The next start removes what a crash leaves there.
 * - `fill` adds to the copy.
 * - `place` moves the copy to its destination: readers then see its content as changes there. `replace` does so too, and
 *   replaces a folder, or a file by a folder.
 * - `abandon` removes the copy.
 */
export type StagingStep = 'begin' | 'fill' | 'place' | 'replace' | 'abandon'

/** A change that is about to happen. */
export interface ChangeIntent extends FileChangeOptions {
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
  /** When the file that this change replaces was created: the new file keeps this date. Needs `revision`. */
  readonly created?: Date
  readonly staging?: StagingStep
  /** When the content of a file was written, for a change that has happened already. */
  readonly modified?: Date
}

/** An intent with its number in the journal. Its outcome is still open. */
export interface PendingIntent extends ChangeIntent {
  readonly seq: number
}

/** The paths of a change; `source` for a `move`. */
export type ChangedPaths = Pick<ChangeIntent, 'path' | 'source'>

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
  /** JSON. */
  readonly maker: string | null
  readonly change_group: string | null
  readonly created: number | null
  readonly at: number
  readonly staging: StagingStep | null
  readonly id: string
}

/** The columns of a committed change that other rows depend on. */
export type CommittedChange = Pick<
  ChangeRow,
  | 'seq'
  | 'user'
  | 'op'
  | 'path'
  | 'source'
  | 'size'
  | 'revision'
  | 'by'
  | 'maker'
  | 'change_group'
  | 'created'
  | 'staging'
>

/** Whether readers see something new when the change is committed. */
export function isShown({ staging }: Pick<ChangeIntent, 'staging'>): boolean {
  return staging === undefined || staging === 'place' || staging === 'replace'
}

export function changeOf(row: ChangeRow): FileChange {
  return { seq: row.seq, id: row.id, ...commonFields(row), at: new Date(row.at) }
}

export function intentOf(row: ChangeRow): PendingIntent {
  const created = row.created === null ? {} : { created: new Date(row.created) }
  const staging = row.staging === null ? {} : { staging: row.staging }
  return { seq: row.seq, userUuid: row.user, ...commonFields(row), ...created, ...staging }
}

function commonFields({ op, path, source, size, revision, by, maker, change_group: group }: ChangeRow) {
  return {
    op,
    path,
    ...(source !== null && { source }),
    ...(size !== null && { size }),
    ...(revision !== null && { revision }),
    ...(by !== null && { by }),
    ...(maker !== null && { maker: JSON.parse(maker) as ChangeMaker }),
    ...(group !== null && { group }),
  }
}
