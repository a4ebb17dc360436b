import { editorSchema } from '../../configuration/editor-schema.ts'
import { formatPrinted } from '../../configuration/printing.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { checkAll, inspect } from '../common/inspect.ts'

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
  const enabled = records.all.filter(({ state }) => state !== 'disabled').length
  const file = configuration.file ?? 'The configuration'
  process.stdout.write(`${file} is valid: ${enabled} of ${records.all.length} plugins enabled.\n`)
  for (const { id, state, reason, entry } of records) {
    if (state !== 'blocked') continue
    process.stdout.write(`"${id}" (${entry.where}) is blocked, and the node starts without it: ${reason}\n`)
  }
}

/** `nodekeep config schema` */
export async function schema(options: ConfigurationOptions): Promise<void> {
  const { records } = await inspect(options)
  const sections = records.all
    .filter(({ plugin }) => plugin !== null)
    .map((record) => [record.claim.section, record.plugin?.config ?? null] as const)
  process.stdout.write(`${JSON.stringify(editorSchema(new Map(sections)), null, 2)}\n`)
}
