import type { BackupOmission } from '@nodekeep/plugin-sdk'
import { ArchiveError, EntryTree } from '@nodekeep/plugin-sdk/archive'

/** The format that this version writes. It reads this one and earlier ones. */
export const backupFormat = 1

/** The paths of the entries that the format itself defines. All others come from participants. */
export const archiveEntryNames = {
  header: 'backup.json',
  sums: 'SHA256SUMS',
  manifest: 'manifest.json',
  payload: 'payload.tar.gz.age',
} as const

/** The parts of an archive that belong to no plugin. All other folders have the names of participants. */
export const kernelParts: ReadonlySet<string> = new Set(['state', 'identity', 'configuration'])

/** Bytes of `backup.json` at most. A list of ten thousand omissions has some two million. */
export const maxHeaderBytes = 16 * 1024 * 1024

/** Files and folders of an archive. Each takes some 300 bytes of memory while the archive is written or read. */
export const maxEntries = 5_000_000

/** The first entry of an archive, `backup.json`. It is readable without a key, also in an encrypted archive. */
export interface BackupHeader {
  /** The version of the format. */
  readonly format: number
  /** The version of Nodekeep that made the backup. */
  readonly nodekeep: string
  /** The moment of the state, ISO 8601 in UTC with milliseconds. */
  readonly created: string
  readonly plugins: readonly { readonly id: string; readonly version: string }[]
  /** Content of the node that the backup does not have. */
  readonly omitted: readonly BackupOmission[]
  /** The paths of the archive whose content lies in folders outside of the plugins' own. Archives of earlier versions have none. */
  readonly folders?: readonly PlacedFolder[]
  /**
   * The paths at which each user sees their files, each with the path of the archive that has them: `{ "/": "files/local" }`. A
   * path hides what a shorter one has there. Storages that are left out are among them. Archives of earlier versions have none.
   */
  readonly mounts?: Readonly<Record<string, string>>
}

/** A path of the archive, and where a node keeps what is below it. */
export interface PlacedFolder {
  /** Such as `files/local`. */
  readonly path: string
  /** The plugin that keeps the content. Archives of earlier versions have it only with a `key`. */
  readonly plugin?: string
  /** The key of the plugin's section in the configuration that names the folder. Missing where the content is not in plain files. */
  readonly key?: string
}

/** @throws ArchiveError */
export function parseHeader(bytes: Uint8Array): BackupHeader {
  const header = jsonOf(bytes) as Partial<BackupHeader> | null
  const format = header?.format
  if (typeof format !== 'number' || !Number.isInteger(format) || format < 1) throw damaged()
  if (format > backupFormat) {
    const { nodekeep } = header as Partial<BackupHeader>
    const maker = typeof nodekeep === 'string' ? ` (Nodekeep ${nodekeep.slice(0, 50)})` : ''
    throw new ArchiveError(
      `was made by a newer version of Nodekeep, in format ${format}${maker}. This version reads formats up to ${backupFormat}: update Nodekeep and try again`,
    )
  }
  const { nodekeep, created, plugins, omitted, folders = [], mounts = {} } = header as Partial<BackupHeader>
  const isWhole =
    typeof nodekeep === 'string' &&
    typeof created === 'string' &&
    !Number.isNaN(Date.parse(created)) &&
    isListOf(plugins, 'id', 'version') &&
    isListOf(omitted, 'what', 'why') &&
    isListOf(folders, 'path') &&
    typeof mounts === 'object' &&
    Object.entries(mounts ?? { '': null }).every(
      ([path, below]) => path.startsWith('/') && typeof below === 'string',
    )
  if (!isWhole) throw damaged()
  // A restore moves what is at these paths, so they must be in the storages of participants.
  const tree = new EntryTree(maxEntries)
  for (const { path } of folders) {
    tree.add(path, 'directory')
    const [part = '', name, ...more] = path.split('/')
    if (name === undefined || more.length > 0 || kernelParts.has(part)) throw damaged()
  }
  // Files of users are put at these paths, below a folder of this machine.
  const points = new EntryTree(maxEntries)
  for (const point of Object.keys(mounts)) if (point !== '/') points.add(point.slice(1), 'directory')
  return header as BackupHeader
}

function isListOf(list: unknown, ...keys: readonly string[]): boolean {
  return Array.isArray(list) && list.every((item) => keys.every((key) => typeof item?.[key] === 'string'))
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return null
  }
}

function damaged(): ArchiveError {
  return new ArchiveError(`is damaged: its ${archiveEntryNames.header} cannot be read`)
}
