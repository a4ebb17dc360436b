import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupParticipant } from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration/configuration.ts'
import type { DatabaseSnapshots } from '../state/database-snapshots.ts'
import { placedConfiguration } from './placed-configuration.ts'
import { smallFilesInBackups } from './small-files-in-backups.ts'
import { stateInBackups } from './state-in-backups.ts'

/** The kernel's own participants of backups, by name. */
export function kernelParticipants(
  configuration: Configuration,
  databases: DatabaseSnapshots,
): Readonly<Record<string, BackupParticipant>> {
  const { data } = configuration.kernel
  const key = { file: join(data, 'identity', 'node.key'), path: 'node.key' }
  return {
    configuration: smallFilesInBackups(() => placedConfiguration(configuration)),
    identity: smallFilesInBackups(() => (existsSync(key.file) ? [key] : [])),
    state: stateInBackups(data, databases),
  }
}
