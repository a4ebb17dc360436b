import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { conflict, invalid, type RestoredState } from '@nodekeep/plugin-sdk'
import { isDamage } from '@nodekeep/plugin-sdk/data-folder'
import semver from 'semver'
import { createSql } from '../state/sql.ts'
import { callInDatabaseThread } from './call-in-database-thread.ts'
import { type PluginStep, stepsOfPlugins } from './migrate-restored-database.ts'

/** The versions of this node. */
interface Versions {
  readonly version: string
  readonly plugins: RestoredState['plugins']
}

/**
 * Makes the kernel's database of a backup fit for this node. See `migrateState` of the service `Restores`.
 * @throws NodekeepError VALIDATION_ERROR, CONFLICT
 */
export async function migrateRestoredState(
  dataFolder: string,
  { file, takenAt, nodekeep, plugins }: RestoredState,
  present: Versions,
): Promise<void> {
  const migrated = await callInDatabaseThread('migrateRestoredDatabase', [file, takenAt.getTime()])
  if (migrated.kind === 'refused') {
    throw invalid(
      `The backup cannot be restored: its state/state.sqlite is not the state of a node, since ${migrated.reason}.`,
    )
  }
  if (migrated.kind === 'newer') {
    throw conflict(
      `The backup was made by Nodekeep ${nodekeep}. This node, Nodekeep ${present.version}, does not know the form of its state: ${migrated.reason}. Update this node, then restore the backup.`,
    )
  }
  const known = knownSteps(dataFolder)
  for (const { id, version } of present.plugins) {
    const made = plugins.find((plugin) => plugin.id === id)?.version
    if (made === undefined || !isNewer(made, version)) continue
    // An earlier version of a plugin can use what later steps have only added.
    const step = migrated.steps.find(
      (one) => one.plugin === id && one.change === 'contract' && !known.has(keyOf(one)),
    )
    if (step === undefined) continue
    throw conflict(
      `The backup has data of the plugin "${id}" ${made}. This node has "${id}" ${version}, which may not know its form: migration "${step.id}" has run. Update the plugin, then restore the backup.`,
    )
  }
}

/** The steps that the plugins of this node have run, which they know. A restore mends a damaged state, which tells of none. */
function knownSteps(dataFolder: string): Set<string> {
  const file = join(dataFolder, 'state.sqlite')
  if (!existsSync(file)) return new Set()
  using connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  const sql = createSql(connection)
  try {
    const isThere = sql.get("SELECT 1 FROM sqlite_schema WHERE name = 'plugin_migrations'") !== undefined
    return new Set(isThere ? stepsOfPlugins(sql).map(keyOf) : [])
  } catch (error) {
    if (isDamage(error)) return new Set()
    throw error
  }
}

function keyOf({ plugin, id }: PluginStep): string {
  return JSON.stringify([plugin, id])
}

function isNewer(version: string, than: string): boolean {
  return semver.valid(version) !== null && semver.valid(than) !== null && semver.gt(version, than)
}
