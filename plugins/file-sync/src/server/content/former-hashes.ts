import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { FileIndex } from '@nodekeep/plugin-sdk'

/** Rows that move at a time. */
const pageSize = 100

/** Milliseconds between two looks whether the index has all files of a user. */
const lookMs = 500

/** Forgets what a former release has found out about the files of a user. */
export function eraseFormerHashes(connection: DatabaseSync, userUuid: string): void {
  if (areThere(connection)) connection.prepare('DELETE FROM former_hashes WHERE user = ?').run(userUuid)
}

/**
 * Moves the hashes that a release before has found out to the index of files, each user when the index has all their files. Those of files
 * that have changed since are left out.
 */
export async function moveFormerHashes(
  connection: DatabaseSync,
  index: FileIndex,
  signal: AbortSignal,
): Promise<void> {
  if (!areThere(connection)) return
  const users = connection.prepare('SELECT DISTINCT user FROM former_hashes')
  const rows = connection.prepare(
    `SELECT id, path, revision, size, lower(hex(sha256)) AS sha256 FROM former_hashes WHERE user = ? LIMIT ${pageSize}`,
  )
  const remove = connection.prepare('DELETE FROM former_hashes WHERE id = ?')
  for (let left = users.all(); left.length > 0; left = users.all()) {
    for (const { user } of left) {
      const own = index.for({ uuid: String(user) })
      if (!(await own.isComplete())) continue
      for (let page = rows.all(String(user)); page.length > 0; page = rows.all(String(user))) {
        const hashes = page.map(({ path, revision, size, sha256 }) => {
          return [
            String(path),
            { revision: String(revision), size: Number(size), sha256: String(sha256) },
          ] as const
        })
        await Promise.all(hashes.map((hash) => own.setHash(...hash)))
        signal.throwIfAborted()
        for (const { id } of page) remove.run(Number(id))
      }
    }
    await delay(lookMs, undefined, { signal, ref: false })
  }
  connection.exec('DROP TABLE former_hashes')
}

function areThere(connection: DatabaseSync): boolean {
  const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'former_hashes'"
  return connection.prepare(table).get() !== undefined
}
