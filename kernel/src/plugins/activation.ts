import type { Disposer, Plugin } from '@nodekeep/plugin-sdk'
import { tokenKey, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { Contributions } from '../services/contributions.ts'
import type { ServiceDirectory } from '../services/service-directory.ts'
import { duration } from './duration.ts'
import { PluginFailure } from './failure.ts'
import type { PluginRoutes } from './plugin-routes.ts'

type Hook = () => void | Promise<void>

export interface ActivationLimits {
  readonly setupTimeoutMs: number
  readonly startTimeoutMs: number
  readonly stopTimeoutMs: number
  /** How long requests that are being answered may take to end when the plugin stops. */
  readonly drainMs: number
}

export interface ActivationParts {
  readonly id: string
  readonly plugin: Plugin
  readonly limits: ActivationLimits
  readonly services: ServiceDirectory
  /** The services that this plugin is the chosen provider of, by token key. */
  readonly offers: ReadonlySet<string>
  readonly contributions: Contributions
  readonly routes: PluginRoutes
}

/**
 * One life of a plugin, from setup to stop. All that it brings becomes visible in one step, `publish`, and goes in
 * `stop`, whatever happened between.
 */
export class Activation {
  readonly #parts: ActivationParts
  readonly #abort = new AbortController()
  readonly #startHooks: Hook[] = []
  readonly #stopHooks: Hook[] = []
  readonly #disposers: Disposer[] = []
  #provided: ReadonlyMap<string, unknown> = new Map()
  #stopped = false

  constructor(parts: ActivationParts) {
    this.#parts = parts
  }

  /** Aborted when the plugin is to stop. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  onStart(hook: Hook): void {
    this.#startHooks.push(hook)
  }

  /** Has a hook run when the plugin stops; at once when it has stopped already, as after a setup that was late. */
  onStop(hook: Hook): void {
    if (this.#stopped) queueMicrotask(hook)
    else this.#stopHooks.push(hook)
  }

  /** Has something taken back when the plugin stops; at once when it has stopped already. */
  onDispose(dispose: Disposer): void {
    if (this.#stopped) dispose()
    else this.#disposers.push(dispose)
  }

  /** @throws PluginFailure in the phase `setup` or `routes` */
  async setUp(context: unknown): Promise<void> {
    const { plugin, limits, routes } = this.#parts
    const late = `Its setup took longer than ${duration(limits.setupTimeoutMs)} (loader.setupTimeoutMs).`
    try {
      const result = await withTimeLimit(plugin.setup(context), limits.setupTimeoutMs, late, this.signal)
      this.#provided = providedServices(plugin, result)
    } catch (error) {
      throw PluginFailure.from('setup', error)
    }
    await routes.load(limits.setupTimeoutMs, this.signal)
  }

  /**
   * Makes services, entries and routes visible.
   *
   * @throws PluginFailure in the phase `publish` when a name or a route is taken; then nothing is visible
   */
  publish(): void {
    const { services, offers, contributions, routes } = this.#parts
    try {
      this.signal.throwIfAborted()
      routes.mount()
      contributions.publish()
    } catch (error) {
      routes.unmount()
      throw PluginFailure.from('publish', error)
    }
    for (const [key, implementation] of this.#provided) {
      if (offers.has(key)) services.provide(key, implementation)
    }
  }

  /** @throws PluginFailure in the phase `start` */
  async start(): Promise<void> {
    const { startTimeoutMs } = this.#parts.limits
    const late = `Its onStart took longer than ${duration(startTimeoutMs)} (loader.startTimeoutMs).`
    try {
      for (const hook of this.#startHooks) await withTimeLimit(hook(), startTimeoutMs, late, this.signal)
    } catch (error) {
      throw PluginFailure.from('start', error)
    }
  }

  /** Tells the plugin that its end has come, so that long answers and loops can finish. */
  announceStop(): void {
    this.#abort.abort(new Error('The plugin is stopping.'))
    this.#parts.routes.announceStop()
  }

  /**
   * Takes everything back. It always comes to its end.
   *
   * @returns what went wrong in the plugin's own hooks
   */
  async stop(): Promise<PluginFailure[]> {
    const { services, contributions, routes, limits } = this.#parts
    const failures: PluginFailure[] = []
    const attempt = async (what: string, step: Hook) => {
      const late = `${what} took longer than ${duration(limits.stopTimeoutMs)} (loader.stopTimeoutMs).`
      try {
        await withTimeLimit(step(), limits.stopTimeoutMs, late)
      } catch (error) {
        failures.push(PluginFailure.from('stop', error))
      }
    }
    this.announceStop()
    routes.unmount()
    await routes.drain(limits.drainMs)
    for (const hook of this.#stopHooks.reverse()) await attempt('Its onStop', hook)
    await attempt('Closing its routes', () => routes.close())
    for (const key of this.#provided.keys()) if (this.#parts.offers.has(key)) services.withdraw(key)
    contributions.withdraw()
    this.#stopped = true
    for (const dispose of this.#disposers) dispose()
    return failures
  }
}

function providedServices(plugin: Plugin, result: unknown): ReadonlyMap<string, unknown> {
  const given = (typeof result === 'object' && result !== null ? result : {}) as Record<string, unknown>
  return new Map(
    Object.entries(plugin.provides).map(([name, token]) => {
      if (given[name] === undefined) {
        throw new PluginFailure(
          'setup',
          `It provides "${tokenKey(token)}" as "${name}", but its setup returned nothing under that name.`,
        )
      }
      return [tokenKey(token), given[name]] as const
    }),
  )
}
