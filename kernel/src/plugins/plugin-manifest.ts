import { readFile } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { isId } from '@nodekeep/plugin-sdk/host'
import { messageOf } from '../errors/error-text.ts'
import { suggest } from '../validation/suggestion.ts'
import { PluginFailure } from './failure.ts'
import { type CommandDeclaration, type ManifestCommands, readManifestCommands } from './manifest-commands.ts'

/** The facts that a package states about its plugin. They are known before any of its code runs. */
export interface PluginManifest {
  /** `name` and `version` of the package. */
  readonly packageName: string
  readonly version: string
  /** The plugin's id, `nodekeep.id`. */
  readonly id: string
  /** The range of SDK versions that the plugin works with, `nodekeep.sdk`. */
  readonly sdk: string
  /** The name of its configuration section, `nodekeep.section`. Default: the id. */
  readonly section: string
  /** Absolute path of the package; empty for a plugin without a package. */
  readonly folder: string
  /** Absolute path of the module whose default export is the plugin. */
  readonly entry: string
  /**
   * The folders that it keeps outside of its own, `nodekeep.folders`: the key of its section that names the folder, and the
   * default, a path relative to the data folder.
   */
  readonly folders: ReadonlyMap<string, string>
  /** Its commands, and the absolute path of the module that defines what they do. */
  readonly commands?: { readonly entry: string; readonly declarations: readonly CommandDeclaration[] }
  /** The description of the package. */
  readonly description: string
}

/** Whether this kernel itself runs from its sources, as in a checkout of the repository. */
const fromSources = import.meta.url.endsWith('.ts')

const manifestFields = ['id', 'sdk', 'entry', 'source', 'section', 'folders', 'commands']

/**
 * Reads the manifest of a plugin's package.
 *
 * `nodekeep.entry` and `nodekeep.source` are paths within the package. `source` replaces `entry` when the node runs from
 * its sources and the package is not below `node_modules`, where Node strips no types.
 *
 * @param path absolute path of the package's package.json
 * @throws PluginFailure in the phase `manifest`
 */
export async function readManifest(path: string): Promise<PluginManifest> {
  const content = await readPackage(path)
  const fields = content.nodekeep
  if (fields === undefined) {
    throw new PluginFailure('manifest', `${path} has no "nodekeep" field, so it is not a Nodekeep plugin.`)
  }
  if (!isRecord(fields)) {
    throw new PluginFailure(
      'manifest',
      `${path}: "nodekeep" must be an object, such as { "id": "notes", "sdk": "^0.1.0", "entry": "./index.js" }.`,
    )
  }
  const text = (field: string): string => {
    const value = fields[field]
    if (typeof value === 'string' && value !== '') return value
    throw new PluginFailure('manifest', `${path}: "nodekeep.${field}" must be a string that is not empty.`)
  }
  const id = text('id')
  if (!isId(id)) {
    throw new PluginFailure('manifest', `${path}: "nodekeep.id" must be lower case words joined by dashes.`)
  }
  for (const field of Object.keys(fields)) {
    if (manifestFields.includes(field)) continue
    throw new PluginFailure(
      'manifest',
      `${path}: "nodekeep.${field}" is not a known field. ${suggest(field, manifestFields)}`,
    )
  }
  const folder = dirname(path)
  const within = (field: string, name: string): string => {
    const target = resolve(folder, name)
    if (target.startsWith(`${folder}${sep}`)) return target
    throw new PluginFailure(
      'manifest',
      `${path}: "nodekeep.${field}" must be a path within the package, such as "./index.js".`,
    )
  }
  const file = (field: string) => within(field, text(field))
  const mayUseSource = fromSources && !folder.includes('node_modules')
  const commands = 'commands' in fields ? commandsOf(fields.commands, path) : null
  const commandsFile = commands === null ? null : ((mayUseSource ? commands.source : null) ?? commands.entry)
  return {
    packageName: typeof content.name === 'string' ? content.name : id,
    version: typeof content.version === 'string' ? content.version : '0.0.0',
    id,
    sdk: text('sdk'),
    section: 'section' in fields ? text('section') : id,
    folder,
    entry: mayUseSource && 'source' in fields ? file('source') : file('entry'),
    folders: foldersOf('folders' in fields ? fields.folders : {}, path),
    ...(commands !== null &&
      commandsFile !== null && {
        commands: {
          entry: within('commands.entry', commandsFile),
          declarations: commands.declarations,
        },
      }),
    description: typeof content.description === 'string' ? content.description : '',
  }
}

function foldersOf(field: unknown, path: string): ReadonlyMap<string, string> {
  if (isRecord(field) && Object.entries(field).every(([key, folder]) => key !== '' && isPathBelow(folder)))
    return new Map(Object.entries(field as Record<string, string>))
  throw new PluginFailure(
    'manifest',
    `${path}: "nodekeep.folders" must map keys of the configuration to relative paths, such as { "root": "files" }.`,
  )
}

/** Whether a value is a path that stays below the folder from which it starts, on every platform. */
function isPathBelow(value: unknown): value is string {
  return typeof value === 'string' && /^[^/\\:]/.test(value) && !/[\\:]|(^|\/)\.{1,2}(\/|$)/.test(value)
}

function commandsOf(field: unknown, path: string): ManifestCommands {
  try {
    return readManifestCommands(field)
  } catch (error) {
    throw new PluginFailure('manifest', `${path}: ${messageOf(error).replace('"', '"nodekeep.')}.`, error)
  }
}

async function readPackage(path: string): Promise<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isRecord(content) ? content : {}
  } catch (error) {
    throw new PluginFailure('manifest', `${path} cannot be read: ${messageOf(error)}`, error)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
