import { editorSchema, formatPrinted } from '../../configuration/index.ts'
import { sectionName } from '../../plugins/load-plugins.ts'
import type { ConfigurationOptions } from '../configuration-options.ts'
import { checkAll, inspect } from '../inspect.ts'

/** `nodekeep config print` */
export async function print(options: ConfigurationOptions): Promise<void> {
  const { configuration, schemas, switchedOff } = await inspect(options)
  const lines = [`// ${configuration.file ?? 'No configuration file: defaults, environment and flags only.'}`]
  for (const id of switchedOff) lines.push(`// The plugin "${id}" was switched off at run time.`)
  process.stdout.write(`${lines.join('\n')}\n${formatPrinted(configuration.print(schemas))}\n`)
}

/** `nodekeep config check` */
export async function check(options: ConfigurationOptions): Promise<void> {
  const inspection = await inspect(options)
  checkAll(inspection)
  const { configuration, records } = inspection
  const enabled = records.filter(({ state }) => state !== 'disabled').length
  const file = configuration.file ?? 'The configuration'
  process.stdout.write(`${file} is in order: ${enabled} of ${records.length} plugins enabled.\n`)
  for (const { id, state, reason, wish } of records) {
    if (state !== 'blocked') continue
    process.stdout.write(`"${id}" (${wish.where}) is blocked, and the node starts without it: ${reason}\n`)
  }
}

/** `nodekeep config schema` */
export async function schema(options: ConfigurationOptions): Promise<void> {
  const { records } = await inspect(options)
  const sections = records
    .filter(({ plugin }) => plugin !== null)
    .map((record) => [sectionName(record), record.plugin?.config ?? null] as const)
  process.stdout.write(`${JSON.stringify(editorSchema(new Map(sections)), null, 2)}\n`)
}
