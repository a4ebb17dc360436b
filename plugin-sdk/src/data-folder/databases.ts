import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { preparePrivateFile } from './private-folder.ts'

/** The folder of the databases that backups leave out, in the data folder of a plugin. */
const leftOutFolder = 'not-in-backups'
const extension = '.sqlite'

/** A database file in the data folder. */
export interface DatabaseFile {
  /** Relative to the data folder, `/`-separated. */
  readonly path: string
  readonly inBackups: boolean
}

/**
 * Makes the database file behind the SDK's `sqliteFile`, if there is none.
 *
 * Its place is all that the node records about it. So {@link findDatabases} also finds the databases of plugins that are
 * disabled, and of a node that does not run.
 *
 * @returns its path
 * @throws TypeError when the name is not valid
 */
export function preparePluginDatabase(
  pluginFolder: string,
  name: string,
  { inBackups = true }: { readonly inBackups?: boolean } = {},
): string {
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]{0,99}$/.test(name)) {
    throw new TypeError(
      `"${name}" cannot name a database: use at most 100 lower-case letters, digits and dashes, such as "index".`,
    )
  }
  return preparePrivateFile(inBackups ? pluginFolder : join(pluginFolder, leftOutFolder), name + extension)
}

/** Finds all databases of a node: that of the kernel, then those of its plugins. */
export function findDatabases(dataFolder: string): DatabaseFile[] {
  const found: DatabaseFile[] = [{ path: 'state.sqlite', inBackups: true }]
  for (const plugin of namesIn(join(dataFolder, 'plugins'))) {
    for (const [folder, inBackups] of [
      [`plugins/${plugin}`, true],
      [`plugins/${plugin}/${leftOutFolder}`, false],
    ] as const) {
      const files = namesIn(join(dataFolder, folder)).filter((name) => name.endsWith(extension))
      found.push(...files.map((name) => ({ path: `${folder}/${name}`, inBackups })))
    }
  }
  return found
}

/** The names in a folder, sorted; none if it is no folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}
