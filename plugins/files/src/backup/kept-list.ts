import type { ChangeMaker } from '@nodekeep/plugin-sdk'
import { originOf } from '../change-origin.ts'
import type { RestoredKept } from '../entries/entry-statements.ts'
import type { KeptFile } from '../journal/journal-snapshot.ts'
import { keptPath } from '../mounts/kept-folder.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { definedOnly } from '../operations/defined-only.ts'
import { userPath } from '../paths/user-path.ts'

/** The name of the list in a backup. */
export const keptListName = 'kept.jsonl'

/** A line of the list. */
interface KeptLine {
  /** The path in the backup, `<backend>/kept/<user uuid>/<kept name>`. */
  readonly kept: string
  readonly type: 'file' | 'directory'
  /** The path of the file of which it is a version, in the backup; null for an item of the trash. */
  readonly of: string | null
  /** The path that the user saw. */
  readonly path: string
  /** When it was deleted or replaced. ISO 8601. */
  readonly at: string
  readonly maker: ChangeMaker | null
  readonly group: string | null
}

/** Writes the line of something kept. */
export function lineOf({ userUuid, storage, keptName, of, maker, at, ...rest }: KeptFile): string {
  const placeOf = ({ isKept, names }: NonNullable<KeptFile['of']>) =>
    isKept ? keptPath(userUuid, names.join('/')) : `/${[userUuid, ...names].join('/')}`
  const { type, path, group } = rest
  const line: KeptLine = {
    kept: `${storage}${keptPath(userUuid, keptName)}`,
    type,
    of: of === null ? null : `${storage}${placeOf(of)}`,
    path,
    at: new Date(at).toISOString(),
    maker: maker === null ? null : (JSON.parse(maker) as ChangeMaker),
    group,
  }
  // Many readers of lines begin a new one at these characters.
  const escaped = JSON.stringify(line).replace(
    /[\u0085\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${escaped}\n`
}

/** Reads a line; null if it is none, or if its storage is not mounted. Somebody may have forged it. */
export function keptIn(line: string, mounts: Pick<Mounts, 'ownerOf'>): RestoredKept | null {
  try {
    const { kept, type, of, path, at, maker, group } = JSON.parse(line) as Partial<KeptLine>
    const place = typeof kept === 'string' ? mounts.ownerOf(kept) : null
    const time = Date.parse(at ?? '')
    const isLegible =
      (type === 'file' || type === 'directory') &&
      (of === null || typeof of === 'string') &&
      typeof path === 'string' &&
      !Number.isNaN(time)
    if (!isLegible || place === null || !('keptName' in place) || place.keptName.includes('/')) return null
    const file = of === null ? null : mounts.ownerOf(of)
    const origin = originOf(definedOnly({ maker: maker ?? undefined, group: group ?? undefined }))
    return {
      ...place,
      type,
      of: file?.userUuid === place.userUuid ? file : null,
      path: userPath(path),
      at: time,
      maker: origin.maker === undefined ? null : JSON.stringify(origin.maker),
      group: origin.group ?? null,
    }
  } catch {
    return null
  }
}
