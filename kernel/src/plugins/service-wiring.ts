import type { Plugin } from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import { refuse } from '../configuration/error.ts'
import type { ServiceChoice } from '../configuration/kernel-sections.ts'
import { suggest } from '../validation/suggestion.ts'
import { type Order, orderPlugins } from './order.ts'
import type { PluginRecord, PluginRecords } from './plugin-record.ts'

/** The providers and the users of all services, as the configuration chose. */
export class ServiceWiring {
  readonly #records: PluginRecords
  readonly #kernelServices: ReadonlySet<string>
  readonly #choices: Readonly<Record<string, string>>

  /**
   * @param kernelServices service keys that the kernel itself provides
   * @param choices the chosen provider of a service that several plugins provide: service id to plugin id
   */
  constructor(
    records: PluginRecords,
    kernelServices: ReadonlySet<string>,
    choices: Readonly<Record<string, string>>,
  ) {
    this.#records = records
    this.#kernelServices = kernelServices
    this.#choices = choices
  }

  /** Returns the order of setup of all plugins that are or can be up, and the plugins that are blocked. */
  order(): Order {
    const described = this.#records.all
      .filter((record) => record.isUp || record.isCandidate)
      .flatMap((record) => (record.plugin === null ? [] : [{ record, plugin: record.plugin }]))
      .map(({ record, plugin }) => ({
        id: record.id,
        isUp: record.isUp,
        provides: [...this.offersOf(record)],
        requires: serviceKeys(plugin.requires),
        optional: serviceKeys(plugin.optional),
      }))
    return orderPlugins(described, this.#kernelServices, (key) => this.#howToGet(key))
  }

  /** Returns the services that a plugin provides, without those for which another plugin is chosen. */
  offersOf(record: PluginRecord): ReadonlySet<string> {
    const tokens = Object.values(record.plugin?.provides ?? {})
    return new Set(
      tokens.filter((token) => (this.#choices[token.id] ?? record.id) === record.id).map(tokenKey),
    )
  }

  /** Returns a plugin and the plugins that use its services, directly or through others, in the order of `among`. */
  usersOf(record: PluginRecord, among: readonly PluginRecord[]): PluginRecord[] {
    return this.#dependents(record, among, servicesUsed)
  }

  /** Like `usersOf`, but only with plugins that require a service. */
  requirersOf(record: PluginRecord, among: readonly PluginRecord[]): PluginRecord[] {
    return this.#dependents(record, among, ({ plugin }) => (plugin === null ? [] : requiredServices(plugin)))
  }

  /** Returns the required plugins, and the plugins whose services they need. */
  indispensable(): PluginRecord[] {
    const found = new Set(this.#records.all.filter(({ entry }) => entry.enabled && entry.required))
    // The iteration of a set includes members that are added meanwhile.
    for (const { plugin } of found) {
      const needed = plugin === null ? [] : requiredServices(plugin)
      for (const record of this.#records.all) {
        if (needed.some((key) => this.offersOf(record).has(key))) found.add(record)
      }
    }
    return [...found]
  }

  /** Names the plugin that should provide a service, for a message. */
  providerName(key: string): string {
    const provider = this.#records.all.find((record) => this.offersOf(record).has(key))
    return provider === undefined ? 'another plugin' : `"${provider.id}"`
  }

  /**
   * Refuses choices of the section `services` that name an unknown plugin, or a service that the plugin does not provide.
   * The services of a plugin that is not loaded are unknown, so a choice of it is accepted.
   *
   * @throws ConfigurationError with one line for each
   */
  check(choices: readonly ServiceChoice[]): void {
    refuse(
      choices.flatMap(({ service, plugin, where }) => {
        const problem = this.#problemOf(service, plugin)
        return problem === null ? [] : [`${where} ${problem}`]
      }),
    )
  }

  #problemOf(service: string, plugin: string): string | null {
    const records = this.#records.all
    const chosen = records.find(({ id }) => id === plugin)
    if (chosen === undefined) {
      const advice = records.length === 0 ? 'It names none.' : suggest(plugin, idsOf(records))
      return `chooses "${plugin}", which "plugins" does not name. ${advice}`
    }
    if (chosen.plugin === null || serviceIds(chosen).includes(service)) return null
    const able = records.filter((record) => serviceIds(record).includes(service))
    if (able.length > 0) {
      const names = idsOf(able).map((id) => `"${id}"`)
      return `chooses "${plugin}", which does not provide it. Choose ${names.join(' or ')}.`
    }
    if ([...this.#kernelServices].map(idOfKey).includes(service))
      return 'is a service of the kernel, which no plugin can provide. Remove the key.'
    const known = [...new Set(records.flatMap(serviceIds))]
    const advice = known.length === 0 ? 'No plugin provides any service.' : suggest(service, known)
    return `is not a service that a plugin provides. ${advice}`
  }

  /** `among` is in the order of setup, so one pass finds all dependents. */
  #dependents(
    record: PluginRecord,
    among: readonly PluginRecord[],
    needs: (candidate: PluginRecord) => readonly string[],
  ): PluginRecord[] {
    const affected = new Set([record])
    const offered = new Set(this.offersOf(record))
    for (const candidate of among) {
      if (!needs(candidate).some((key) => offered.has(key))) continue
      affected.add(candidate)
      for (const key of this.offersOf(candidate)) offered.add(key)
    }
    return among.filter((candidate) => affected.has(candidate))
  }

  #howToGet(key: string): string {
    const able = this.#records.all.filter((record) => provides(record, key))
    const [owner] = able
    const service = idOfKey(key)
    const choice = this.#choices[service]
    if (owner === undefined) return this.#howToInstall()
    if (choice !== undefined && !able.some(({ id }) => id === choice)) {
      const names = able.map(({ id }) => `"${id}"`).join(' or ')
      return `"services": { "${service}": "${choice}" } chooses a plugin that is not loaded. Load that plugin, or choose ${names}.`
    }
    const chosen = able.find(({ id }) => id === choice) ?? owner
    if (chosen.state === 'disabled') return howToEnable(chosen)
    return `"${chosen.id}" provides it, but its state is ${chosen.state}${chosen.reason === null ? '.' : `: ${chosen.reason}`}`
  }

  #howToInstall(): string {
    const install = 'Install a plugin that provides it and name it in "plugins".'
    const unknown = this.#records.all.filter(({ plugin, state }) => plugin === null && state === 'failed')
    if (unknown.length === 0) return install
    const names = unknown.map(({ id }) => `"${id}"`).join(', ')
    return `${install} Perhaps one of the plugins that could not be loaded provides it: ${names}.`
  }
}

function provides({ plugin }: PluginRecord, key: string): boolean {
  return Object.values(plugin?.provides ?? {}).some((token) => tokenKey(token) === key)
}

function howToEnable({ id, entry }: PluginRecord): string {
  return entry.enabled
    ? `"${id}" provides it, but was switched off at run time: POST /api/system/plugins/${id}/enable switches it on.`
    : `"${id}" provides it: enable it with "plugins": { "${id}": true }.`
}

/** Returns the keys of the services that a plugin requires. */
export function requiredServices(plugin: Plugin): string[] {
  return serviceKeys(plugin.requires)
}

function servicesUsed({ plugin }: PluginRecord): string[] {
  return plugin === null ? [] : [...serviceKeys(plugin.requires), ...serviceKeys(plugin.optional)]
}

function serviceKeys(requirements: Plugin['requires']): string[] {
  return Object.values(requirements).flatMap((token) => (token.kind === 'service' ? [tokenKey(token)] : []))
}

/** Returns the ids of a plugin's services without their major versions, as the section `services` names them. */
function serviceIds({ plugin }: PluginRecord): string[] {
  return Object.values(plugin?.provides ?? {}).map(({ id }) => id)
}

function idOfKey(key: string): string {
  return key.split('@', 1)[0] ?? key
}

function idsOf(records: readonly PluginRecord[]): string[] {
  return records.map(({ id }) => id)
}
