import type { Duplex } from 'node:stream'
import type { Routes, RoutesApp, RoutesOptions } from '@nodekeep/plugin-sdk'
import { NodekeepError, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { publicError } from '../errors/public-error.ts'
import { bindEmitter } from '../faults/bind-emitter.ts'
import { type FaultOwner, runInContextOf } from '../faults/fault-context.ts'
import { connectionFaultOwner, RequestFaultOwner } from '../faults/request-fault-owner.ts'
import type { App } from '../http/create-app.ts'
import type { KernelConnections } from '../http/kernel-connections.ts'
import type { RouteTable } from '../http/route-table.ts'
import { hasBody, type OnAdmitted } from '../http/shared-hooks.ts'
import { createWebSockets, type WebSockets } from '../http/web-sockets.ts'
import { duration, PluginFailure } from './failure.ts'

interface Registration {
  readonly register: (app: RoutesApp) => void | Promise<void>
  readonly options: RoutesOptions
}

/** The routes of one plugin: registered in setup, loaded into a Fastify instance of its own, mounted, closed. */
export class PluginRoutes {
  readonly #owner: FaultOwner
  readonly #table: RouteTable
  readonly #connections: Pick<KernelConnections, 'drain'>
  readonly #createApp: (onAdmitted: OnAdmitted) => Promise<App>
  readonly #registrations: Registration[] = []
  /** The connections that the plugin has taken over. */
  readonly #sockets = new Set<Duplex>()
  #app: App | null = null
  #webSockets: WebSockets | null = null
  #loaded = false
  #drained = false

  constructor(
    owner: FaultOwner,
    table: RouteTable,
    connections: Pick<KernelConnections, 'drain'>,
    createApp: (onAdmitted: OnAdmitted) => Promise<App>,
  ) {
    this.#owner = owner
    this.#table = table
    this.#connections = connections
    this.#createApp = createApp
  }

  /** The `routes` function that the plugin calls. */
  readonly add: Routes = (register, options = {}) => {
    if (this.#loaded) throw new Error('Register routes before setup ends: later routes would never answer.')
    const { prefix } = options
    if (prefix !== undefined && !/^(\/|$)/.test(prefix)) {
      throw new Error(`The prefix "${prefix}" of routes must begin with "/".`)
    }
    this.#registrations.push({ register, options })
  }

  /** @throws PluginFailure if the time is over; otherwise what the plugin threw, or an Error about a wrong schema */
  async load(timeoutMs: number, signal: AbortSignal): Promise<void> {
    this.#loaded = true
    if (this.#registrations.length === 0) return
    const late = `Its routes took longer than ${duration(timeoutMs)} to register (loader.setupTimeoutMs).`
    try {
      const app = await this.#createApp(this.#admit)
      this.#app = app
      await this.#prepare(app.instance)
      for (const { register, options } of this.#registrations) {
        app.instance.register(scopeOf(register, options), { prefix: options.prefix ?? '' })
      }
      await withTimeLimit(Promise.resolve(app.instance.ready()), timeoutMs, late, signal)
    } catch (error) {
      if (isLoadTimeout(error)) throw new PluginFailure('routes', late, error)
      throw schemaFailure(error) ?? error
    }
  }

  /** @throws NodekeepError CONFLICT when a route is taken */
  mount(): void {
    if (this.#app === null) return
    const { instance, routes } = this.#app
    this.#table.mount({
      owner: this.#owner.id,
      routes,
      foreignErrors: this.#registrations.flatMap(({ options: { prefix, serializeError } }) =>
        prefix === undefined || serializeError === undefined ? [] : [{ prefix, serializeError }],
      ),
      handle: instance.routing,
      upgrade: (request, socket, head) => {
        const owner = connectionFaultOwner(this.#owner, socket)
        return runInContextOf(owner, () => {
          this.#sockets.add(socket)
          socket.once('close', () => this.#sockets.delete(socket))
          bindEmitter(socket, owner)
          return instance.server.emit('upgrade', request, socket, head)
        })
      },
    })
  }

  unmount(): void {
    if (this.#app !== null) this.#table.unmount(this.#owner.id)
  }

  /** Tells the clients of WebSockets to leave. */
  announceStop(): void {
    this.#webSockets?.dismiss()
  }

  /**
   * Waits until everything is answered, but at most `ms` milliseconds. Then it ends the rest with an error. Later requests
   * are refused.
   */
  async drain(ms: number): Promise<void> {
    const sockets = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => void socket.once('close', resolve)),
    )
    await Promise.all([
      this.#connections.drain(this.#owner.id, ms, stopped),
      withTimeLimit(Promise.all(sockets), ms, 'Some WebSockets are open yet.').catch(() => {
        for (const socket of this.#sockets) socket.destroy()
      }),
    ])
    this.#drained = true
  }

  /** Ends WebSockets and runs the `onClose` hooks of Fastify plugins. */
  async close(): Promise<void> {
    const app = this.#app
    this.#app = null
    if (app !== null) await app.instance.close()
  }

  readonly #admit: OnAdmitted = (request, reply, done) => {
    if (this.#drained) {
      done(new NodekeepError('SERVICE_UNAVAILABLE', stopped.message, { headers: stopped.headers }))
      return
    }
    const owner = new RequestFaultOwner(this.#owner, request, reply)
    if (request[hasBody]) bindEmitter(request.raw, owner)
    runInContextOf(owner, done)
  }

  async #prepare(instance: FastifyInstance): Promise<void> {
    instance.addHook('onRoute', refuseForeignPaths)
    if (this.#registrations.some(({ options }) => options.webSockets === true)) {
      this.#webSockets = await createWebSockets(instance)
    } else {
      instance.addHook('onRoute', refuseWebSocket)
    }
    reserveAppMethods(instance)
  }
}

/** The error for requests to a plugin that was stopped. */
const stopped = publicError(
  'SERVICE_UNAVAILABLE',
  'The plugin that answers this was stopped. Try again later.',
  { 'retry-after': '5', connection: 'close' },
)

/**
 * Refuses a route whose path begins with a parameter or a wildcard, also below the paths that plugins share: it would answer
 * paths of other plugins, and all that nothing else answers.
 */
function refuseForeignPaths({ method, url }: RouteOptions): void {
  const [shared = ''] = /^\/?(?:(?:api|auth)\/)?/.exec(url) ?? []
  if (!/^[:*(]/.test(url.slice(shared.length))) return
  throw new Error(
    `The route ${[method].flat().join(', ')} ${url} would answer paths of other plugins. Put a name of your own before the ` +
      `parameter or the wildcard, such as ${shared || '/'}notes/*.`,
  )
}

/** Refuses a WebSocket route where the library is not loaded: Fastify would run its handler for ordinary requests. */
function refuseWebSocket({ url, websocket }: RouteOptions & { websocket?: boolean }): void {
  if (websocket !== true) return
  throw new Error(`The route ${url} takes WebSockets. Call routes() with { webSockets: true } for it.`)
}

const oneForm =
  'Errors have one form on the whole node. Throw a NodekeepError, or give routes() a "serializeError" to speak a foreign protocol.'

const reservedMethods = {
  setErrorHandler: oneForm,
  setNotFoundHandler: `It would never be called: the node answers what no route is there for. ${oneForm}`,
  listen: 'The node listens and hands requests on. Only register routes.',
} as const

/**
 * Makes methods of a plugin's Fastify instance throw: those that would change the node's form of errors, and those that
 * would never work. Nested instances inherit that.
 */
function reserveAppMethods(instance: FastifyInstance): void {
  for (const [method, instead] of Object.entries(reservedMethods)) {
    Object.defineProperty(instance, method, {
      value: () => {
        throw new Error(`A plugin must not call app.${method}(). ${instead}`)
      },
    })
  }
  instance.addHook('onRoute', ({ method, url, errorHandler }) => {
    if (errorHandler === undefined) return
    throw new Error(`The route ${[method].flat().join(', ')} ${url} has an "errorHandler". ${oneForm}`)
  })
}

/** Fastify limits each nested plugin to the same time, and may notice the end of it first. */
function isLoadTimeout(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'AVV_ERR_PLUGIN_EXEC_TIMEOUT' || code === 'FST_ERR_PLUGIN_TIMEOUT'
}

/** Says which schema of which route is wrong. Fastify writes that for those who know its parts. */
function schemaFailure(error: unknown): Error | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code !== 'FST_ERR_SCH_VALIDATION_BUILD' && code !== 'FST_ERR_SCH_SERIALIZATION_BUILD') return undefined
  const [, kind, method, url, problem] =
    /^Failed building the (.+?) schema for (.+?): (.+?), due to error (.+)$/s.exec(String(message)) ?? []
  if (problem === undefined) return undefined
  const part = kind === 'validation' ? 'a request' : 'a response'
  return new Error(`The route ${method} ${url} has ${part} schema that is wrong: ${problem}`, {
    cause: error,
  })
}

function scopeOf(register: Registration['register'], { serializeError }: RoutesOptions) {
  return async (app: RoutesApp): Promise<void> => {
    if (serializeError !== undefined)
      app.addHook('onRoute', (route: { config?: object }) => {
        route.config = { ...route.config, serializeError }
      })
    await register(app)
  }
}
