import { editorSchema } from '../../configuration/editor-schema.ts'
import { ConfigurationError } from '../../configuration/error.ts'
import { formatPrinted } from '../../configuration/printing.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ConfigurationOptions, PrintOptions } from '../common/configuration-options.ts'
import { checkAll, inspect } from '../common/inspect.ts'
import { printJson, printLines } from '../common/print-lines.ts'
import { checkByTrial } from '../common/trial-check.ts'

/** The options of `nodekeep config check`. */
interface CheckOptions extends PrintOptions {
  readonly deep?: boolean
}

/** `nodekeep config print` */
export async function print({ json, ...options }: PrintOptions, process: CommandProcess): Promise<void> {
  const { configuration, schemas, switchedOff } = await inspect(options, process)
  const printed = configuration.print(schemas)
  if (json === true) {
    const { values, origins } = printed
    const { file } = configuration
    printJson(
      { file, switchedOff: [...switchedOff], values, origins: Object.fromEntries(origins) },
      process.stdout,
    )
    return
  }
  const lines = [`// ${configuration.file ?? 'No configuration file: defaults, environment and flags only.'}`]
  for (const id of switchedOff) lines.push(`// The plugin "${id}" was switched off at run time.`)
  process.stdout.write(`${lines.join('\n')}\n${formatPrinted(printed)}\n`)
}

/** `nodekeep config check` */
export async function check(
  { json, deep, ...options }: CheckOptions,
  process: CommandProcess,
): Promise<void> {
  try {
    const inspection = await inspect(options, process)
    const { problems, optional } = checkAll(inspection)
    if (problems.length > 0 && json === true) return printInvalid(problems, optional, process)
    if (problems.length > 0) throw new ConfigurationError(problems)
    const { configuration, records } = inspection
    const enabled = records.all.filter(({ state }) => state !== 'disabled').length
    const blocked = records.all.filter(({ state }) => state === 'blocked')
    const trial = deep === true ? await checkByTrial(options, process) : null
    const warnings = trial?.warnings ?? []
    if (json === true) {
      const reasons = blocked.map(({ id, reason }) => ({ id, reason }))
      const { file } = configuration
      const plugins = trial === null ? {} : { plugins: trial.plugins }
      printJson(
        { valid: true, file, problems, optional, blocked: reasons, warnings, ...plugins },
        process.stdout,
      )
      return
    }
    const file = configuration.file ?? 'The configuration'
    process.stdout.write(`${file} is valid: ${enabled} of ${records.all.length} plugins enabled.\n`)
    for (const { id, reason, entry } of blocked) {
      process.stdout.write(`"${id}" (${entry.where}) is blocked, and the node starts without it: ${reason}\n`)
    }
    if (deep === true)
      printLines(
        ['A trial start succeeded.', ...warnings.map((warning) => `Warning: ${warning}`)],
        process.stdout,
      )
  } catch (error) {
    if (json !== true || !(error instanceof ConfigurationError)) throw error
    printInvalid(error.problems, [], process)
  }
}

/** @param optional those of the problems that a start survives */
function printInvalid(
  problems: readonly string[],
  optional: readonly string[],
  process: CommandProcess,
): void {
  printJson({ valid: false, problems, optional }, process.stdout)
  process.exitCode = 1
}

/** `nodekeep config schema` */
export async function schema(options: ConfigurationOptions, process: CommandProcess): Promise<void> {
  const { schemas } = await inspect(options, process)
  process.stdout.write(`${JSON.stringify(editorSchema(schemas), null, 2)}\n`)
}
