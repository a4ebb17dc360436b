import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { conflict, type ErrorSerializer, type RouteAccess } from '@nodekeep/plugin-sdk'
import createRouter, { type HTTPMethod, type HTTPVersion, type Instance } from 'find-my-way'
import { METHODS } from './node-http.ts'

/** One route as the table knows it. */
export interface MountedRoute {
  readonly method: string
  /** The path with its parameters, as Fastify writes it: `/notes/:id`. */
  readonly path: string
  readonly access: RouteAccess
  readonly publicReason: string | null
  readonly scope: string | null
  readonly websocket: boolean
  /** JSON Schemas of the route, for the OpenAPI document. */
  readonly schema: unknown
  /** Schemas that `schema` may refer to by their `$id`. */
  readonly sharedSchemas: readonly unknown[]
}

/** The owner of the kernel's own routes. */
export const kernelOwner = 'kernel'

type Router = Instance<HTTPVersion.V1>

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Everything that one plugin adds to the table. */
export interface RouteMount {
  readonly owner: string
  readonly routes: readonly MountedRoute[]
  /** Path prefixes below which errors of unknown paths have a foreign form. */
  readonly foreignErrors: readonly { readonly prefix: string; readonly serializeError: ErrorSerializer }[]
  readonly handle: RequestHandler
  /** Takes the upgrade of a connection for one of the mount's WebSocket routes. */
  readonly upgrade: UpgradeHandler
}

/** A route, and the mount that answers it. */
interface FoundRoute {
  readonly route: MountedRoute
  readonly mount: RouteMount
}

/** Takes over a connection that is to become a WebSocket. Returns `false` when the owner takes no WebSockets. */
type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean

/** Options of every router of the node, so that the table and the plugins' own routers see the same paths. */
export const routerOptions = {
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  caseSensitive: true,
  maxParamLength: 1024,
} as const

/**
 * The kernel's table of all routes. Each mount and unmount builds a new router and swaps it in one step, so a mount
 * that fails changes nothing.
 */
export class RouteTable {
  #mounts: ReadonlyMap<string, RouteMount> = new Map()
  #router: Router = createRouter(routerOptions)

  /** The mounts of the kernel and of all plugins by their owners: another map after each change. */
  get mounts(): ReadonlyMap<string, RouteMount> {
    return this.#mounts
  }

  /** All routes, in the order in which they were mounted. */
  get routes(): MountedRoute[] {
    return [...this.#mounts.values()].flatMap((mount) => mount.routes)
  }

  /** The scopes that the routes require of an API token, in alphabetical order. */
  get scopes(): string[] {
    return [...new Set(this.routes.flatMap(({ scope }) => scope ?? []))].sort()
  }

  /** @throws NodekeepError CONFLICT when a route is taken */
  mount(mount: RouteMount): void {
    this.#swap(new Map([...this.#mounts, [mount.owner, mount]]))
  }

  unmount(owner: string): void {
    if (!this.#mounts.has(owner)) return
    this.#swap(new Map([...this.#mounts].filter(([name]) => name !== owner)))
  }

  /** Returns the route of a request target, which may have a query. */
  find(method: string, target: string): FoundRoute | null {
    const found = this.#router.find(method as HTTPMethod, target)
    return found === null ? null : (found.store as FoundRoute)
  }

  /** Returns how to write errors below a path, if a plugin declared that for its prefix. */
  foreignErrors(path: string): ErrorSerializer | undefined {
    const declared = [...this.#mounts.values()].flatMap((mount) => mount.foreignErrors)
    return declared.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))?.serializeError
  }

  /** Returns the methods that a path has routes for. */
  methods(path: string): string[] {
    return METHODS.filter((method) => this.find(method, path) !== null)
  }

  #swap(mounts: ReadonlyMap<string, RouteMount>): void {
    const router = createRouter(routerOptions)
    const owners = new Map<string, string>()
    for (const mount of mounts.values()) {
      for (const route of mount.routes) addRoute(router, route, mount, owners)
    }
    this.#mounts = mounts
    this.#router = router
  }
}

function addRoute(router: Router, route: MountedRoute, mount: RouteMount, owners: Map<string, string>): void {
  for (const pattern of patternsOf(route.path)) {
    const key = `${route.method} ${pattern}`
    const owner = owners.get(key)
    if (owner !== undefined) {
      const remedy = owner === kernelOwner ? 'Choose another path.' : 'Disable one of the two plugins.'
      throw conflict(`The route ${route.method} ${route.path} belongs to "${owner}" already. ${remedy}`)
    }
    owners.set(key, mount.owner)
  }
  router.on(route.method as HTTPMethod, route.path, () => {}, { route, mount } satisfies FoundRoute)
}

/**
 * Returns the forms that a path matches, without the names of its parameters. An optional parameter makes two forms.
 */
function patternsOf(path: string): string[] {
  const pattern = path === '*' ? '/*' : path.replaceAll(/:[^/(.?-]+/g, ':')
  if (!pattern.endsWith('?')) return [pattern]
  return [pattern.slice(0, -1), pattern.slice(0, pattern.lastIndexOf('/')) || '/']
}
