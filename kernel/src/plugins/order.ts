/** The facts about one plugin that its position depends on. Service keys have the form `id@major`. */
export interface OrderedPlugin {
  readonly id: string
  /** Whether it is up. Then it is the provider of its services, also if others could provide them. */
  readonly isUp: boolean
  readonly provides: readonly string[]
  readonly requires: readonly string[]
  readonly optional: readonly string[]
}

export interface Order {
  /** Ids in the order of setup: providers before dependents; otherwise in the given order. */
  readonly ids: readonly string[]
  /** The plugins that cannot be set up, each with the reason. */
  readonly blocked: ReadonlyMap<string, string>
}

/**
 * Orders plugins by their services. Required services always count; optional services count unless they would make
 * plugins wait for each other.
 *
 * @param available keys of services that the kernel provides
 * @param explain returns the advice for a missing service
 */
export function orderPlugins(
  plugins: readonly OrderedPlugin[],
  available: ReadonlySet<string>,
  explain: (service: string) => string,
): Order {
  const { ids, blocked } = walk(plugins, available, explain)
  if (blocked.size === 0) return { ids, blocked }
  // The optional services of a blocked plugin must not change the order of the others.
  const rest = plugins.filter(({ id }) => !blocked.has(id))
  return { ids: walk(rest, available, explain).ids, blocked }
}

function walk(
  plugins: readonly OrderedPlugin[],
  available: ReadonlySet<string>,
  explain: (service: string) => string,
): Order {
  const graph = new ServiceGraph(plugins, available)
  const blocked = new Map<string, string>()
  const ids: string[] = []
  const visited = new Set<string>()

  const whyBlocked = ({ requires }: OrderedPlugin): string | undefined => {
    for (const key of requires) {
      const provider = graph.provider(key)
      if (provider === undefined && !available.has(key))
        return `It needs the service "${key}", which is not available. ${explain(key)}`
      if (provider !== undefined && blocked.has(provider.id))
        return `It needs the service "${key}" of "${provider.id}", which is blocked too.`
    }
    return undefined
  }
  const visit = (plugin: OrderedPlugin, trail: readonly OrderedPlugin[]): void => {
    if (visited.has(plugin.id)) return
    if (trail.includes(plugin)) {
      const cycle = [...trail.slice(trail.indexOf(plugin)), plugin]
      const path = cycle.map(({ id }) => `"${id}"`).join(' → ')
      for (const { id } of cycle) blocked.set(id, `Plugins require each other: ${path}. Disable one of them.`)
      return
    }
    const extended = [...trail, plugin]
    for (const provider of graph.providersOf(plugin.requires)) visit(provider, extended)
    for (const provider of graph.providersOf(plugin.optional)) {
      if (!extended.some((other) => graph.reaches(provider, other))) visit(provider, extended)
    }
    if (visited.has(plugin.id)) return
    visited.add(plugin.id)
    ids.push(plugin.id)
    const why = blocked.has(plugin.id) ? undefined : whyBlocked(plugin)
    if (why !== undefined) blocked.set(plugin.id, why)
  }
  for (const plugin of plugins) {
    const why = graph.whyNotSole(plugin, available)
    if (why !== undefined) blocked.set(plugin.id, why)
  }
  for (const plugin of plugins) visit(plugin, [])
  return { ids: ids.filter((id) => !blocked.has(id)), blocked }
}

/** The providers of all services, and the paths between plugins along required services. */
class ServiceGraph {
  readonly #plugins: readonly OrderedPlugin[]
  readonly #providers: ReadonlyMap<string, OrderedPlugin>

  /** A service of the kernel has no provider among the plugins, whatever they declare. */
  constructor(plugins: readonly OrderedPlugin[], available: ReadonlySet<string>) {
    this.#plugins = plugins
    this.#providers = new Map(
      plugins
        .toSorted((a, b) => Number(a.isUp) - Number(b.isUp))
        .flatMap((plugin) => plugin.provides.map((key) => [key, plugin] as const))
        .filter(([key]) => !available.has(key)),
    )
  }

  provider(key: string): OrderedPlugin | undefined {
    return this.#providers.get(key)
  }

  /** Returns the reason why a plugin cannot provide one of its services, if the kernel or another plugin does. */
  whyNotSole(plugin: OrderedPlugin, available: ReadonlySet<string>): string | undefined {
    if (plugin.isUp) return undefined
    for (const key of plugin.provides) {
      if (available.has(key)) return `It provides the service "${key}", which the kernel itself provides.`
      const others = this.#plugins.filter((other) => other !== plugin && other.provides.includes(key))
      if (others.length === 0) continue
      const names = others.map(({ id }) => `"${id}"`).join(', ')
      const choice = `"services": { "${key.split('@', 1)[0]}": "${plugin.id}" }`
      return `It provides the service "${key}", and so does ${names}. Choose one with ${choice}.`
    }
    return undefined
  }

  providersOf(keys: readonly string[]): OrderedPlugin[] {
    return keys.map((key) => this.#providers.get(key)).filter((provider) => provider !== undefined)
  }

  reaches(from: OrderedPlugin, to: OrderedPlugin, seen = new Set<OrderedPlugin>()): boolean {
    if (from === to) return true
    if (seen.has(from)) return false
    seen.add(from)
    return this.providersOf(from.requires).some((next) => this.reaches(next, to, seen))
  }
}
