import type { FileChange } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from './journal.ts'

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

export function changeOf(row: ChangeRow): FileChange {
  return { seq: row.seq, ...described(row), at: new Date(row.at) }
}

export function intentOf(row: ChangeRow): ChangeIntent & { readonly seq: number } {
  const created = row.created === null ? {} : { created: new Date(row.created) }
  return { seq: row.seq, userUuid: row.user, ...described(row), ...created }
}

function described({ op, path, source, size, revision, by }: ChangeRow) {
  return {
    op,
    path,
    ...(source !== null && { source }),
    ...(size !== null && { size }),
    ...(revision !== null && { revision }),
    ...(by !== null && { by }),
  }
}
