import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  type BackupEntry,
  type BackupOmission,
  type BackupParticipant,
  messageOf,
} from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration/configuration.ts'
import type { DatabaseSnapshots } from '../state/database-snapshots.ts'
import { type PlacedFile, placedConfiguration } from './placed-configuration.ts'
import { stateInBackups } from './state-in-backups.ts'

/**
 * The kernel's own participants of backups, by name. The first one added to the registry is fixed last, while all others stand
 * still: that is the state, which every plugin writes to.
 */
export function kernelParticipants(
  configuration: Configuration,
  databases: DatabaseSnapshots,
): Readonly<Record<string, BackupParticipant>> {
  const { data } = configuration.kernel
  const key = { file: join(data, 'identity', 'node.key'), path: 'node.key' }
  return {
    state: stateInBackups(data, databases),
    identity: smallFilesInBackups(() => (existsSync(key.file) ? [key] : [])),
    configuration: smallFilesInBackups(() => placedConfiguration(configuration)),
  }
}

/** A participant that consists of a few files of some kilobytes: they are read while all parts of the node stand still. */
function smallFilesInBackups(find: () => readonly PlacedFile[]): BackupParticipant {
  return {
    prepare: async () => ({
      halt: async () => ({
        async fix() {
          const found = find().map(readPlaced)
          return {
            async *entries() {
              for (const one of found) if ('open' in one) yield one
            },
            omitted: async () => found.filter((one) => 'why' in one),
            changed: [],
            async release() {},
          }
        },
        async [Symbol.asyncDispose]() {},
      }),
      async release() {},
    }),
  }
}

function readPlaced({ file, path }: PlacedFile): BackupEntry | BackupOmission {
  try {
    const bytes = readFileSync(file)
    const modified = statSync(file).mtime
    return { path, type: 'file', size: bytes.length, modified, open: () => Readable.from([bytes]) }
  } catch (error) {
    return { what: path, why: `The file cannot be read: ${messageOf(error)}` }
  }
}
