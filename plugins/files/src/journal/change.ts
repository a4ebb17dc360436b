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
  /** Bytes. A `delete` with 0 and without a revision removes an empty folder. */
  readonly size?: number
  /** The revision that the change makes; for a `move` of a file, the revision that it keeps. */
  readonly revision?: string
  /** When the file that this change replaces was created: the new file keeps this date. Needs `revision`. */
  readonly created?: Date
  readonly staging?: StagingStep
  /**
   * The name under which a `delete` keeps what it removes, and a `write` or `move` what it replaces: `<kept name>`, or
   * `<kept name>/<path in the item>` where a storage moves a folder file by file. A file that replaces a file makes a version of it, and
   * everything else a trash item. Nothing is kept if the index knows of nothing there, unless it is a `delete`: then `size` and
   * `revision` are those of what goes, and what has no revision is a folder.
   */
  readonly keptAs?: string
  /**
   * The kept name of what this change puts back at `path`. A `move` puts back an item of the trash, or a part of one. It has no `source`,
   * and `place` as `staging`: readers then see what is in it as changes at `path`. A `write` makes a version the content of the file
   * again, with `size` and `revision` of the version.
   */
  readonly restores?: string
  /** When the content of a file was written, for a change that has happened already. */
  readonly modified?: Date
}

/** An intent with its number in the journal. Its outcome is still open. */
export interface PendingIntent extends ChangeIntent {
  readonly seq: number
}

/** A change as the journal has it. Its outcome may be open. */
export interface RecordedChange extends PendingIntent {
  readonly isPending: boolean
  /** Of the newest change of an undo that is complete: the number of the newest change of the group that it has taken back. */
  readonly undoes?: number
}

/** The paths of a change, `source` for a `move`, and its names of kept files. */
export type ChangedPaths = Pick<ChangeIntent, 'path' | 'source' | 'keptAs' | 'restores'>

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
  readonly kept: string | null
  readonly restored: string | null
  readonly undoes: number | null
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
  | 'at'
  | 'staging'
  | 'kept'
  | 'restored'
>

/** Whether readers see something new when the change is committed. */
export function isShown({ staging }: Pick<ChangeIntent, 'staging'>): boolean {
  return staging === undefined || staging === 'place' || staging === 'replace'
}

export function changeOf(row: ChangeRow): FileChange {
  const { seq, id, op, size, revision, at } = row
  // Of a deletion, these are those of what is kept.
  const file =
    op === 'delete' ? {} : { ...(size !== null && { size }), ...(revision !== null && { revision }) }
  return { seq, id, ...commonFields(row), ...file, at: new Date(at) }
}

export function intentOf(row: ChangeRow): PendingIntent {
  const { seq, user: userUuid, size, revision, created, staging } = row
  return {
    seq,
    userUuid,
    ...commonFields(row),
    ...(size !== null && { size }),
    ...(revision !== null && { revision }),
    ...(created !== null && { created: new Date(created) }),
    ...(staging !== null && { staging }),
    ...keptNames(row),
  }
}

/** The names of kept files of a change. */
export function keptNames({ kept, restored }: Pick<ChangeRow, 'kept' | 'restored'>) {
  return { ...(kept !== null && { keptAs: kept }), ...(restored !== null && { restores: restored }) }
}

function commonFields({ op, path, source, by, maker, change_group: group }: ChangeRow) {
  return {
    op,
    path,
    ...(source !== null && { source }),
    ...(by !== null && { by }),
    ...(maker !== null && { maker: JSON.parse(maker) as ChangeMaker }),
    ...(group !== null && { group }),
  }
}
