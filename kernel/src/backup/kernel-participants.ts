import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupParticipant } from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration/configuration.ts'
import type { DatabaseSnapshots } from '../state/database-snapshots.ts'
import { placedConfiguration } from './placed-configuration.ts'
import { smallFilesInBackups } from './small-files-in-backups.ts'
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
