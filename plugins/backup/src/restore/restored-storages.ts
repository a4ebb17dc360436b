import { basename } from 'node:path'
import { type NodeFolder, NodekeepError } from '@nodekeep/plugin-sdk'
import type { BackupHeader } from '../archive/backup-header.ts'

/** Where the files of a storage in a backup go. */
export interface RestoredStorage {
  /** The name of the backend. */
  readonly name: string
  /** Its path in the archive, such as `files/local`. */
  readonly path: string
  /**
   * The folder of plain files in which they are put by renames; `plugin` if the plugin of the participant writes them into the
   * storage at the next start; `left-out` if the person does not want them.
   */
  readonly place: { readonly folder: string } | 'plugin' | 'left-out'
}

/**
 * Returns whether the node has a storage backend.
 *
 * @param plugin the plugin of the storage on the node of the backup, if the backup names it
 */
export type HasBackend = (name: string, plugin: string | undefined) => boolean

interface KnownStorages {
  readonly folders: readonly NodeFolder[]
  readonly hasBackend: HasBackend
  /** Backends to leave out. */
  readonly without: readonly string[]
}

/**
 * Finds the places for the files of all storages that a backup has.
 *
 * @throws NodekeepError CONFLICT that names a storage that this node does not have; VALIDATION_ERROR if the backup does not have
 *   a storage that is to be left out
 */
export function restoredStorages(
  { folders: placed = [] }: Pick<BackupHeader, 'folders'>,
  { folders, hasBackend, without }: KnownStorages,
): RestoredStorage[] {
  const names = placed.map(({ path }) => basename(path))
  const unknown = without.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      `The backup has no files of a storage "${unknown}". Its storages are: ${names.join(', ') || 'none'}.`,
    )
  }
  const storages = placed.map(({ path, plugin, key }): RestoredStorage => {
    const name = basename(path)
    if (without.includes(name)) return { name, path, place: 'left-out' }
    const folder = folders.find((one) => one.plugin === plugin && one.key === key)
    if (folder !== undefined) return { name, path, place: { folder: folder.path } }
    if (hasBackend(name, plugin)) return { name, path, place: 'plugin' }
    throw new NodekeepError(
      'CONFLICT',
      `The backup has files of the storage "${name}", which this node does not have. ` +
        `Add the plugin ${plugin === undefined ? 'of this storage' : `"${plugin}"`} to the configuration, or restore without these files: \`--without ${name}\`.`,
    )
  })
  refuseSharedFolders(storages)
  return storages
}

/** A node never has two storages in one folder, so only a forged backup does. */
function refuseSharedFolders(storages: readonly RestoredStorage[]): void {
  const names = new Map<string, string>()
  for (const { name, place } of storages) {
    if (typeof place === 'string') continue
    const other = names.get(place.folder)
    if (other !== undefined) {
      throw new NodekeepError(
        'VALIDATION_ERROR',
        `The backup cannot be restored: its storages "${other}" and "${name}" would be put into one folder.`,
      )
    }
    names.set(place.folder, name)
  }
}
