import { type Plugin, tokenKey } from '@nodekeep/plugin-sdk'
import { type Order, orderPlugins } from './order.ts'
import type { PluginRecord } from './plugin-record.ts'

/** Who provides which service to whom, as configuration chose. */
export class ServiceWiring {
  readonly #records: () => readonly PluginRecord[]
  readonly #kernelServices: ReadonlySet<string>
  readonly #choices: Readonly<Record<string, string>>

  /**
   * @param kernelServices service keys that the kernel itself provides
   * @param choices which plugin is to provide a service where several could: service id to plugin id
   */
  constructor(
    records: () => readonly PluginRecord[],
    kernelServices: ReadonlySet<string>,
    choices: Readonly<Record<string, string>>,
  ) {
    this.#records = records
    this.#kernelServices = kernelServices
    this.#choices = choices
  }

  /** The order of setup of all plugins that are up or may come up, and who is blocked. */
  order(): Order {
    const described = this.#records()
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

  /** The services that a plugin provides and, where others could too, is chosen for. */
  offersOf(record: PluginRecord): ReadonlySet<string> {
    const tokens = Object.values(record.plugin?.provides ?? {})
    return new Set(
      tokens.filter((token) => (this.#choices[token.id] ?? record.id) === record.id).map(tokenKey),
    )
  }

  /** Those of the plugins, in their order, that use a service of one of them, directly or not; with that one. */
  usersOf(record: PluginRecord, among: readonly PluginRecord[]): PluginRecord[] {
    return this.#dependents(record, among, servicesUsed)
  }

  /** The same for those only that cannot do without. */
  requirersOf(record: PluginRecord, among: readonly PluginRecord[]): PluginRecord[] {
    return this.#dependents(record, among, ({ plugin }) => (plugin === null ? [] : requiredServices(plugin)))
  }

  /** Every plugin that the node cannot do without: the required ones, and whose services they need. */
  indispensable(): PluginRecord[] {
    const found = new Set(this.#records().filter(({ wish }) => wish.enabled && wish.required))
    // A set's iteration comes to what is added meanwhile.
    for (const { plugin } of found) {
      const needed = plugin === null ? [] : requiredServices(plugin)
      for (const record of this.#records()) {
        if (needed.some((key) => this.offersOf(record).has(key))) found.add(record)
      }
    }
    return [...found]
  }

  /** The plugin that is to provide a service, for a message. */
  providerName(key: string): string {
    const provider = this.#records().find((record) => this.offersOf(record).has(key))
    return provider === undefined ? 'another plugin' : `"${provider.id}"`
  }

  /** `among` is in the order of setup, so one pass finds all. */
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
    const able = this.#records().filter((record) => provides(record, key))
    const [owner] = able
    const service = key.split('@', 1)[0] ?? key
    const choice = this.#choices[service]
    if (owner === undefined) return this.#howToInstall()
    if (choice !== undefined && !able.some(({ id }) => id === choice)) {
      const names = able.map(({ id }) => `"${id}"`).join(' or ')
      return `"services": { "${service}": "${choice}" } chooses a plugin that is not loaded. Choose ${names}, or see to it that it is.`
    }
    const chosen = able.find(({ id }) => id === choice) ?? owner
    if (chosen.state === 'disabled') return howToEnable(chosen)
    return `"${chosen.id}" would, but it is ${chosen.state}${chosen.reason === null ? '.' : `: ${chosen.reason}`}`
  }

  #howToInstall(): string {
    const install = 'Install a plugin that provides it and name it in "plugins".'
    const unknown = this.#records().filter(({ plugin, state }) => plugin === null && state === 'failed')
    if (unknown.length === 0) return install
    return `${install} What ${unknown.map(({ id }) => `"${id}"`).join(', ')} would provide is not known, since it could not be loaded.`
  }
}

function provides({ plugin }: PluginRecord, key: string): boolean {
  return Object.values(plugin?.provides ?? {}).some((token) => tokenKey(token) === key)
}

function howToEnable({ id, wish }: PluginRecord): string {
  return wish.enabled
    ? `"${id}" would, but it was switched off at run time: POST /api/system/plugins/${id}/enable switches it on.`
    : `"${id}" would: enable it with "plugins": { "${id}": true }.`
}

/** The keys of the services that a plugin cannot do without. */
export function requiredServices(plugin: Plugin): string[] {
  return serviceKeys(plugin.requires)
}

function servicesUsed({ plugin }: PluginRecord): string[] {
  return plugin === null ? [] : [...serviceKeys(plugin.requires), ...serviceKeys(plugin.optional)]
}

function serviceKeys(requirements: Plugin['requires']): string[] {
  return Object.values(requirements).flatMap((token) => (token.kind === 'service' ? [tokenKey(token)] : []))
}
