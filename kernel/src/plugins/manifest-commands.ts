import { isId } from '@nodekeep/plugin-sdk/host'

/** A command as the manifest of its plugin declares it. */
export interface CommandDeclaration {
  readonly name: string
  readonly description: string
  /** In the form of commander, such as `<file> [folder]`. Empty for none. */
  readonly arguments: string
  /** Flags in the form of commander, such as `-t, --to <target>`, to descriptions. */
  readonly options: Readonly<Record<string, string>>
}

/** The commands of a plugin. */
export interface ManifestCommands {
  /** The module that defines what they do, as a path within the package. */
  readonly entry: string
  /** The module as TypeScript, if the manifest names it. */
  readonly source: string | null
  readonly declarations: readonly CommandDeclaration[]
}

/**
 * Reads the field `nodekeep.commands` of a manifest.
 *
 * @throws TypeError that names the part that is wrong
 */
export function readManifestCommands(field: unknown): ManifestCommands {
  const { entry, source, list, ...unknown } = recordOf(field, 'commands')
  refuseUnknown(unknown, 'commands')
  const declarations = Object.entries(recordOf(list, 'commands.list')).map(([name, declared]) => {
    const at = `commands.list.${name}`
    if (!isId(name)) throw new TypeError(`"${at}" must be lower case words joined by dashes`)
    const { description, arguments: args = '', options = {}, ...others } = recordOf(declared, at)
    refuseUnknown(others, at)
    return {
      name,
      description: textOf(description, `${at}.description`),
      arguments: argumentsOf(args, `${at}.arguments`),
      options: optionsOf(options, `${at}.options`),
    }
  })
  return {
    entry: textOf(entry, 'commands.entry'),
    source: source === undefined ? null : textOf(source, 'commands.source'),
    declarations,
  }
}

/** An option with a long name, and a value in angle or square brackets if it takes one. */
const flags = /^(?:-[a-z], )?--[a-z][a-z-]*(?: (?:<[a-z-]+>|\[[a-z-]+\]))?$/

/** Flags that the node gives to every command of a plugin. */
const givenFlags = ['-c', '--config', '-d', '--data', '--verbose', '--json', '-h', '--help']

function optionsOf(value: unknown, at: string): Record<string, string> {
  const options = recordOf(value, at)
  const taken = new Set<string>()
  for (const [option, description] of Object.entries(options)) {
    const refuse = (why: string) => new TypeError(`"${at}" has the option "${option}": ${why}`)
    if (!flags.test(option)) throw refuse('write flags such as "--to <target>" or "-y, --yes"')
    for (const flag of option.replace(/ [<[].*/, '').split(', ')) {
      if (givenFlags.includes(flag)) throw refuse('every command has this flag already')
      if (taken.has(flag)) throw refuse('the flag is there twice')
      taken.add(flag)
    }
    textOf(description, `${at}["${option}"]`)
  }
  return options as Record<string, string>
}

/** Arguments in angle brackets, or in square brackets if they may be missing. The last one may be several. */
const argumentsForm = /^(?:(?:<[a-z-]+>|\[[a-z-]+\]) )*(?:<[a-z-]+(?:\.{3})?>|\[[a-z-]+(?:\.{3})?\])$/

function argumentsOf(value: unknown, at: string): string {
  if (value === '' || argumentsForm.test(textOf(value, at))) return value as string
  throw new TypeError(`"${at}" is "${value}": write arguments such as "<file> [more...]"`)
}

function recordOf(value: unknown, at: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new TypeError(`"${at}" must be an object`)
}

function textOf(value: unknown, at: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`"${at}" must be a string that is not empty`)
}

function refuseUnknown(fields: Record<string, unknown>, at: string): void {
  const [name] = Object.keys(fields)
  if (name !== undefined) throw new TypeError(`"${at}.${name}" is not a known field`)
}
