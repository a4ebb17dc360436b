import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Checked, messageOf, type Static, Type } from '@nodekeep/plugin-sdk'
import { isId } from '@nodekeep/plugin-sdk/host'
import { validateClosed } from '../configuration/resolve.ts'
import { jsonSchema } from '../validation/json-schema.ts'
import { describeProblems } from '../validation/schema-problems.ts'
import { PluginFailure } from './failure.ts'

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
  /** Absolute path of the package. */
  readonly folder: string
  /** Absolute path of the module whose default export is the plugin. */
  readonly entry: string
  /**
   * The folders that it keeps outside of its own, `nodekeep.folders`: the key of its section that names the folder, and the
   * default, a path relative to the data folder.
   */
  readonly folders: ReadonlyMap<string, string>
  /** Its commands, and the absolute path of the module that defines what they do. */
  readonly commands?: { readonly entry: string; readonly list: Readonly<Record<string, CommandDeclaration>> }
  /** The description of the package. */
  readonly description: string
}

/** A command as the manifest of its plugin declares it. */
export type CommandDeclaration = Static<typeof command>

const text = Type.String({ minLength: 1 })

const id = Checked((id) => (isId(id) ? null : 'must be lower case words joined by dashes.'))

const module = Checked((path) =>
  isPathBelow(path.replace(/^\.\//, '')) ? null : 'must be a path within the package, such as "./index.js".',
)

/** `source` replaces `entry` when the node runs from its sources, and the package too. */
const modules = { entry: module, source: Type.Optional(module) }

/** An option with a long name, and a value in angle or square brackets if it takes one. */
const flags = /^(?:-[a-z], )?--[a-z][a-z-]*(?: (?:<[a-z-]+>|\[[a-z-]+\]))?$/

/** Flags that the node gives to every command of a plugin. */
const givenFlags = ['-c', '--config', '-d', '--data', '--verbose', '--json', '-h', '--help']

const option = Checked((option) => {
  if (!flags.test(option))
    return `has the option "${option}": write flags such as "--to <target>" or "-y, --yes".`
  const isGiven = flagsOf(option).some((flag) => givenFlags.includes(flag))
  return isGiven ? `has the option "${option}": every command has this flag already.` : null
})

/** Arguments in angle brackets, or in square brackets if they may be missing. The last one may be several. */
const argumentsForm = /^(?:(?:<[a-z-]+>|\[[a-z-]+\]) )*(?:<[a-z-]+(?:\.{3})?>|\[[a-z-]+(?:\.{3})?\])$/

const command = Type.Object({
  description: text,
  arguments: Checked(
    (form) =>
      form === '' || argumentsForm.test(form) ? null : 'must be arguments such as "<file> [more...]".',
    { default: '' },
  ),
  options: Type.Record(Type.String(), text, { default: {}, propertyNames: option }),
  /** The command can also be called without the id of the plugin, unless another command has its name. */
  topLevel: Type.Boolean({ default: false }),
})

const commandName = Checked((name) =>
  isId(name) ? null : `has the command "${name}": write lower case words joined by dashes.`,
)

const configurationKey = Checked((key) =>
  /^[A-Za-z][\w-]*$/.test(key) ? null : `has "${key}", which is no key of a configuration.`,
)

/** The field `nodekeep` of a package.json. */
const schema = Type.Object({
  id,
  sdk: text,
  ...modules,
  section: Type.Optional(text),
  folders: Type.Record(
    Type.String(),
    Checked((path) => (isPathBelow(path) ? null : 'must be a path below the data folder, such as "files".')),
    { default: {}, propertyNames: configurationKey },
  ),
  commands: Type.Optional(
    Type.Object({ ...modules, list: Type.Record(Type.String(), command, { propertyNames: commandName }) }),
  ),
})

/** Whether this kernel itself runs from its sources, as in a checkout of the repository. */
const fromSources = import.meta.url.endsWith('.ts')

/**
 * Reads the manifest of a plugin's package.
 *
 * @param path absolute path of the package's package.json
 * @throws PluginFailure in the phase `manifest`
 */
export async function readManifest(path: string): Promise<PluginManifest> {
  const { name, version, description, nodekeep } = await readPackage(path)
  if (nodekeep === undefined) {
    throw new PluginFailure('manifest', `${path} has no "nodekeep" field, so it is not a Nodekeep plugin.`)
  }
  const [problem] = describeProblems(validateClosed(jsonSchema(schema), nodekeep))
  if (problem !== undefined) throw wrongField(path, problem.path, problem.text)
  const fields = nodekeep as Static<typeof schema>
  const folder = dirname(path)
  // Node strips no types below `node_modules`.
  const mayUseSource = fromSources && !folder.includes('node_modules')
  const fileOf = ({ entry, source }: { readonly entry: string; readonly source?: string }) =>
    resolve(folder, mayUseSource ? (source ?? entry) : entry)
  const { id, sdk, section = id, folders, commands } = fields
  for (const [command, { options }] of Object.entries(commands?.list ?? {})) {
    const twice = flagTwice(Object.keys(options))
    if (twice === undefined) continue
    throw wrongField(
      path,
      ['commands', 'list', command, 'options'],
      `has the option "${twice}": the flag is there twice.`,
    )
  }
  return {
    packageName: typeof name === 'string' ? name : id,
    version: typeof version === 'string' ? version : '0.0.0',
    id,
    sdk,
    section,
    folder,
    entry: fileOf(fields),
    folders: new Map(Object.entries(folders)),
    ...(commands !== undefined && { commands: { entry: fileOf(commands), list: commands.list } }),
    description: typeof description === 'string' ? description : '',
  }
}

function wrongField(path: string, keys: readonly string[], problem: string): PluginFailure {
  return new PluginFailure('manifest', `${path}: "${['nodekeep', ...keys].join('.')}" ${problem}`)
}

/** Returns the first option with a flag of one before it. */
function flagTwice(options: readonly string[]): string | undefined {
  return options.find((option, index) => {
    const before = options.slice(0, index).flatMap(flagsOf)
    return flagsOf(option).some((flag) => before.includes(flag))
  })
}

function flagsOf(option: string): string[] {
  return option.replace(/ [<[].*/, '').split(', ')
}

/** Whether a path stays below the folder from which it starts, on every platform. */
function isPathBelow(path: string): boolean {
  return /^[^/\\:]/.test(path) && !/[\\:]|(^|\/)\.{1,2}(\/|$)/.test(path)
}

async function readPackage(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) ?? {}
  } catch (error) {
    throw new PluginFailure('manifest', `${path} cannot be read: ${messageOf(error)}`, error)
  }
}
