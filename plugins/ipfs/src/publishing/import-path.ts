import { type ChangeLog, type ChangePosition, type FilesService, NodekeepError } from '@nodekeep/plugin-sdk'
import type { LazyStore } from '../store/lazy-store.ts'
import type { Store } from '../store/store.ts'
import type { ImportedTree, TreeLimits } from './import-tree.ts'
import type { PublishedBlock } from './publications.ts'

/** Services for imports into the store. */
export interface ImportServices {
  readonly store: LazyStore
  /** Undefined without the plugin `files`. */
  readonly files: FilesService | undefined
  readonly changes: ChangeLog | undefined
  readonly limits: TreeLimits
}

interface ImportPathOptions {
  readonly userUuid: string
  readonly path: string
  readonly signal: AbortSignal
  readonly onBytes?: (bytes: number) => void
  readonly onBlock?: (block: PublishedBlock) => void
}

/** The content of a path as blocks. */
interface ImportedPath extends ImportedTree {
  /** As {@link Publication.unchangedUntil}. */
  readonly unchangedUntil: ChangePosition | null
}

/**
 * Stores the file or folder at a path of a user as blocks.
 *
 * @param use gets the result while the store holds its blocks
 */
export async function importPath<T>(
  { store: lazy, files, changes, limits }: ImportServices,
  { userUuid, path, signal, onBytes = () => {}, onBlock = () => {} }: ImportPathOptions,
  use: (imported: ImportedPath, store: Store) => Promise<T>,
): Promise<T> {
  const store = await lazy.open()
  // Before the first look at the path: the journal has all later changes.
  await changes?.follow(userUuid)
  const position = (await changes?.head(userUuid)) ?? null
  const { importTree } = await import('./import-tree.ts')
  const session = store.session()
  try {
    const home = requireFiles(files).for({ uuid: userUuid })
    const tree = await importTree(path, { ...limits, files: home, session, signal, onBytes, onBlock })
    return await use({ ...tree, unchangedUntil: tree.revision === null ? position : null }, store)
  } finally {
    session.end()
  }
}

/** @throws NodekeepError SERVICE_UNAVAILABLE without the plugin `files` */
export function requireFiles(files: FilesService | undefined): FilesService {
  if (files !== undefined) return files
  throw new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The plugin "files" is not loaded: there is nothing to publish.',
  )
}
