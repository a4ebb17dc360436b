import type { Disposer, Log, Plugin } from '@nodekeep/plugin-sdk'
import { NodekeepError, withTimeLimit } from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import type { App } from '../http/create-app.ts'
import type { KernelConnections } from '../http/kernel-connections.ts'
import type { RouteTable } from '../http/route-table.ts'
import type { OnAdmitted } from '../http/shared-hooks.ts'
import { Contributions } from '../services/contributions.ts'
import { duration, PluginFailure, type PluginPhase } from './failure.ts'
import type { PluginRecord } from './plugin-record.ts'
import { PluginRoutes } from './plugin-routes.ts'
import { createSetupContext, type SetupServices } from './setup-context.ts'

type Hook = () => void | Promise<void>

/** The parts of the kernel that an activation uses. */
export interface ActivationServices extends SetupServices {
  readonly routeTable: RouteTable
  readonly connections: KernelConnections
  readonly createApp: (log: Log, onAdmitted?: OnAdmitted) => Promise<App>
}

/**
 * One life of a plugin, from setup to stop. Its services, entries and routes become visible in one step, `publish`, and
 * `stop` takes them back, whatever happened in between.
 */
export class Activation {
  readonly #kernel: ActivationServices
  readonly #record: PluginRecord
  readonly #plugin: Plugin
  readonly #offers: ReadonlySet<string>
  readonly #routes: PluginRoutes
  readonly #contributions: Contributions
  readonly #abort = new AbortController()
  readonly #startHooks: Hook[] = []
  readonly #servingHooks: Hook[] = []
  readonly #stopHooks: Hook[] = []
  readonly #disposers: Disposer[] = []
  #provided: ReadonlyMap<string, unknown> = new Map()
  #stopped = false

  /** @param offers the services of which this plugin is the chosen provider, by token key */
  constructor(kernel: ActivationServices, record: PluginRecord, plugin: Plugin, offers: ReadonlySet<string>) {
    this.#kernel = kernel
    this.#record = record
    this.#plugin = plugin
    this.#offers = offers
    const { routeTable, connections, createApp, pluginLog, registries } = kernel
    this.#routes = new PluginRoutes(record, routeTable, connections, (onAdmitted) =>
      createApp(pluginLog, onAdmitted),
    )
    this.#contributions = new Contributions(registries, record.id)
  }

  /** @throws PluginFailure in the phase `configuration`, `shape`, `setup` or `routes` */
  async setUp(): Promise<void> {
    const { setupTimeoutMs } = this.#kernel.configuration.kernel.loader
    const { signal } = this.#abort
    const late = `Its setup took longer than ${duration(setupTimeoutMs)} (loader.setupTimeoutMs).`
    try {
      const result = await withTimeLimit(this.#callSetup(), setupTimeoutMs, late, signal)
      this.#provided = providedServices(this.#plugin, result)
    } catch (error) {
      throw this.#failure('setup', error)
    }
    try {
      await this.#routes.load(setupTimeoutMs, signal)
    } catch (error) {
      throw this.#failure('routes', error)
    }
  }

  #failure(phase: PluginPhase, thrown: unknown): PluginFailure {
    return PluginFailure.from(phase, thrown, this.#record.folder)
  }

  async #callSetup(): Promise<unknown> {
    const context = createSetupContext(this.#kernel, this.#record, this.#plugin, {
      signal: this.#abort.signal,
      onStart: (hook) => this.#startHooks.push(checkedHook('onStart', hook)),
      onServing: (hook) => this.#servingHooks.push(checkedHook('onServing', hook)),
      onStop: (hook) => this.#onStop(checkedHook('onStop', hook)),
      onDispose: (dispose) => this.#onDispose(dispose),
      contributions: this.#contributions,
      routes: this.#routes.add,
    })
    return this.#plugin.setup(context)
  }

  /** After the stop, as from a setup that was too late, the hook runs at once. */
  #onStop(hook: Hook): void {
    if (this.#stopped) queueMicrotask(hook)
    else this.#stopHooks.push(hook)
  }

  #onDispose(dispose: Disposer): void {
    if (this.#stopped) dispose()
    else this.#disposers.push(dispose)
  }

  /**
   * Makes services, entries and routes visible.
   *
   * @throws PluginFailure in the phase `publish` when a name or a route is taken; then nothing is visible
   */
  publish(): void {
    try {
      this.#abort.signal.throwIfAborted()
      this.#routes.mount()
      this.#contributions.publish()
    } catch (error) {
      this.#routes.unmount()
      throw this.#failure('publish', error)
    }
    for (const [key, implementation] of this.#provided) {
      if (this.#offers.has(key)) this.#kernel.services.set(key, implementation)
    }
  }

  /** @throws PluginFailure in the phase `start` */
  start(): Promise<void> {
    return this.#runHooks('start', this.#startHooks, 'onStart')
  }

  /** @throws PluginFailure in the phase `serving` */
  serve(): Promise<void> {
    return this.#runHooks('serving', this.#servingHooks, 'onServing')
  }

  async #runHooks(phase: 'start' | 'serving', hooks: readonly Hook[], name: string): Promise<void> {
    const { startTimeoutMs } = this.#kernel.configuration.kernel.loader
    const late = `Its ${name} took longer than ${duration(startTimeoutMs)} (loader.startTimeoutMs).`
    try {
      for (const hook of hooks) await withTimeLimit(hook(), startTimeoutMs, late, this.#abort.signal)
    } catch (error) {
      throw this.#failure(phase, error)
    }
  }

  /** Tells the plugin that it is about to stop, so that long answers and loops can end. */
  announceStop(): void {
    const stopping = new NodekeepError('SERVICE_UNAVAILABLE', 'The plugin is stopping. Try again later.', {
      headers: { 'retry-after': '5' },
    })
    this.#abort.abort(stopping)
    this.#routes.announceStop()
  }

  /**
   * Takes everything back. It always completes.
   *
   * @returns the failures of the plugin's own hooks
   */
  async stop(): Promise<PluginFailure[]> {
    const { services, configuration } = this.#kernel
    const { loader, server } = configuration.kernel
    const failures: PluginFailure[] = []
    const attempt = async (what: string, step: Hook) => {
      const late = `${what} took longer than ${duration(loader.stopTimeoutMs)} (loader.stopTimeoutMs).`
      try {
        await withTimeLimit(step(), loader.stopTimeoutMs, late)
      } catch (error) {
        failures.push(this.#failure('stop', error))
      }
    }
    this.announceStop()
    this.#routes.unmount()
    await this.#routes.drain(server.drainSeconds * 1000)
    for (const hook of this.#stopHooks.reverse()) await attempt('Its onStop', hook)
    await attempt('Closing its routes', () => this.#routes.close())
    for (const key of this.#provided.keys()) if (this.#offers.has(key)) services.delete(key)
    this.#contributions.withdraw()
    this.#stopped = true
    for (const dispose of this.#disposers) dispose()
    return failures
  }
}

/** A hook that is no function would fail much later, in words of the kernel. */
function checkedHook(name: string, hook: unknown): Hook {
  if (typeof hook === 'function') return hook as Hook
  throw new PluginFailure('setup', `It called ${name} without a function. Write ${name}(() => { … }).`)
}

function providedServices(plugin: Plugin, result: unknown): ReadonlyMap<string, unknown> {
  const given = (typeof result === 'object' && result !== null ? result : {}) as Record<string, unknown>
  const undeclared = Object.keys(given).find((name) => !Object.hasOwn(plugin.provides, name))
  if (undeclared !== undefined) {
    throw new PluginFailure(
      'setup',
      `Its setup returned "${undeclared}", which "provides" does not declare. Declare the service there, or do not return it.`,
    )
  }
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
