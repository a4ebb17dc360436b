import { createReadStream, rmSync } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { BackupEntry, BackupParticipant, BackupSnapshot } from '@nodekeep/plugin-sdk'
import { makePrivateFolder } from '@nodekeep/plugin-sdk/data-folder'
import type { DatabaseSnapshot, DatabaseSnapshots } from '../state/database-snapshots.ts'
import { callInDatabaseThread } from './call-in-database-thread.ts'

/**
 * The databases of the kernel and of the plugins in backups, by their paths in the data folder, and `users.json`. The copies are
 * made directly after the states are fixed, since the write-ahead logs grow until they are complete.
 */
export function stateInBackups(dataFolder: string, databases: DatabaseSnapshots): BackupParticipant {
  return {
    async prepare(signal) {
      signal.throwIfAborted()
      makePrivateFolder(copiesFolder(dataFolder))
      const snapshot = databases.prepare()
      const folder = await mkdtemp(join(copiesFolder(dataFolder), 'copies-')).catch(async (error) => {
        await snapshot.release()
        throw error
      })
      let isTaken = false
      return {
        halt: async () => ({
          async fix() {
            snapshot.pin()
            isTaken = true
            return snapshotOf(snapshot, folder, new Date())
          },
          // A transaction of SQLite fixes the state. No writer has to wait.
          async [Symbol.asyncDispose]() {},
        }),
        async release() {
          if (isTaken) return
          await snapshot.release()
          await rm(folder, { recursive: true, force: true })
        },
      }
    },
  }
}

/** Removes the copies that a crash left behind. Call it while nothing uses the data folder. */
export function removeLeftCopies(dataFolder: string): void {
  rmSync(copiesFolder(dataFolder), { recursive: true, force: true })
}

function copiesFolder(dataFolder: string): string {
  return join(dataFolder, 'state-copies')
}

function snapshotOf(pinned: DatabaseSnapshot, folder: string, takenAt: Date): BackupSnapshot {
  const copying = copyAll(pinned, folder, takenAt).finally(() => pinned.release())
  copying.catch(() => {})
  return {
    omitted: async () => [],
    changed: [],
    async *entries() {
      yield* await copying
    },
    async release() {
      await pinned.release()
      await copying.catch(() => {})
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function copyAll(pinned: DatabaseSnapshot, folder: string, takenAt: Date): Promise<BackupEntry[]> {
  const entries: BackupEntry[] = []
  for (const [index, path] of pinned.paths.entries()) {
    const file = join(folder, `${index}.sqlite`)
    await pinned.copyTo(path, file)
    if (path !== 'state.sqlite') {
      entries.push(await fileEntry(path, file, takenAt))
      continue
    }
    const cleaned = join(folder, 'state.sqlite')
    await writeFile(cleaned, '', { mode: 0o600 })
    const users = await callInDatabaseThread('cleanState', [file, cleaned, takenAt.getTime()], pinned.signal)
    await rm(file)
    entries.push(await fileEntry(path, cleaned, takenAt), textEntry('users.json', users, takenAt))
  }
  return entries
}

async function fileEntry(path: string, file: string, modified: Date): Promise<BackupEntry> {
  const { size } = await stat(file)
  return { path, type: 'file', size, modified, open: () => createReadStream(file) }
}

function textEntry(path: string, value: unknown, modified: Date): BackupEntry {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return { path, type: 'file', size: bytes.length, modified, open: () => Readable.from([bytes]) }
}
