import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StateStore } from '@nodekeep/plugin-sdk'
import { createSql } from './sql.ts'
import { createStateStore } from './state-stores.ts'

/**
 * Tells whether a node has stored anything in a folder.
 *
 * @throws Error when this user may not read the folder or what is in it
 */
export function holdsState(dataFolder: string): boolean {
  try {
    accessSync(join(dataFolder, 'state.sqlite'), constants.R_OK)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw new Error(
      `This user may not read the data in ${dataFolder} (${code}). Run the command as the user who runs the node.`,
      { cause: error },
    )
  }
}

/**
 * Reads from the state of a node that may be running. The connection is read-only, so SQLite refuses writes.
 *
 * @param otherwise what to return when the data folder holds no state yet
 */
export async function withStoredState<T>(
  dataFolder: string,
  namespace: string,
  read: (state: StateStore) => Promise<T>,
  otherwise: T,
): Promise<T> {
  if (!holdsState(dataFolder)) return otherwise
  using connection = new DatabaseSync(join(dataFolder, 'state.sqlite'), { readOnly: true, timeout: 5000 })
  const sql = createSql(connection)
  const hasTable =
    sql.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'state'") !== undefined
  if (!hasTable) return otherwise
  return await read(createStateStore(namespace, async (text, ...values) => sql.all(text, ...values)))
}
