import type { ServiceChoice } from '../configuration/index.ts'
import { ConfigurationError } from '../configuration/index.ts'
import { suggest } from '../configuration/suggestion.ts'
import type { PluginRecord } from './plugin-record.ts'

/**
 * Refuses choices of `services` that cannot be meant: of a plugin that isn't there, of a service that it doesn't
 * provide. What a plugin would provide that isn't loaded is not known; such a choice stands.
 *
 * @param kernelServices service keys that the kernel itself provides
 * @throws ConfigurationError with one line for each
 */
export function checkServiceChoices(
  choices: readonly ServiceChoice[],
  records: readonly PluginRecord[],
  kernelServices: ReadonlySet<string>,
): void {
  const problems = choices.flatMap(({ service, plugin, where }) => {
    const problem = complaint(service, plugin, records, kernelServices)
    return problem === null ? [] : [`${where} ${problem}`]
  })
  if (problems.length > 0) throw new ConfigurationError(problems)
}

function complaint(
  service: string,
  plugin: string,
  records: readonly PluginRecord[],
  kernelServices: ReadonlySet<string>,
): string | null {
  const chosen = records.find(({ id }) => id === plugin)
  if (chosen === undefined) {
    const advice = records.length === 0 ? 'There are none.' : suggest(plugin, idsOf(records))
    return `chooses "${plugin}", which is no plugin of "plugins". ${advice}`
  }
  if (chosen.plugin === null || provided(chosen).includes(service)) return null
  const able = records.filter((record) => provided(record).includes(service))
  if (able.length > 0) {
    const names = idsOf(able).map((id) => `"${id}"`)
    return `chooses "${plugin}", which does not provide it. Choose ${names.join(' or ')}.`
  }
  const own = [...kernelServices].map(nameOf)
  if (own.includes(service)) return "is the kernel's own service, which no plugin provides. Remove the key."
  const known = [...new Set(records.flatMap(provided))]
  const advice = known.length === 0 ? 'No plugin provides any.' : suggest(service, known)
  return `is no service that a plugin provides. ${advice}`
}

/** The ids of a plugin's services, without their major versions, as "services" names them. */
function provided({ plugin }: PluginRecord): string[] {
  return Object.values(plugin?.provides ?? {}).map(({ id }) => id)
}

function nameOf(key: string): string {
  return key.split('@', 1)[0] ?? key
}

function idsOf(records: readonly PluginRecord[]): string[] {
  return records.map(({ id }) => id)
}
