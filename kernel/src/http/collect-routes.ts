import type { FastifyInstance, RouteOptions } from 'fastify'
import type { MountedRoute } from './route-table.ts'

interface RouteConfig {
  readonly access?: unknown
  readonly publicReason?: unknown
  readonly scope?: unknown
}

/**
 * Collects the routes of an app while they are registered, and refuses those that say nothing useful about who
 * may call them.
 */
export function collectRoutes(app: FastifyInstance): MountedRoute[] {
  const routes: MountedRoute[] = []
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    if (isPreflight(route)) return
    const facts = { path: route.url, sharedSchemas: Object.values(this.getSchemas()), ...accessOf(route) }
    for (const method of [route.method].flat()) routes.push({ method, ...facts })
  })
  return routes
}

/** The route that @fastify/cors adds to every instance. Only the kernel's own answers preflights. */
function isPreflight({ method, url }: RouteOptions): boolean {
  return url === '*' && [method].flat().join() === 'OPTIONS'
}

function isWebSocket({ websocket, wsHandler }: RouteOptions & { websocket?: boolean; wsHandler?: unknown }) {
  return websocket === true || wsHandler !== undefined
}

function accessOf(route: RouteOptions): Omit<MountedRoute, 'method' | 'path' | 'sharedSchemas'> {
  const { access = 'user', publicReason, scope } = (route.config ?? {}) as RouteConfig
  const where = `The route ${[route.method].flat().join(', ')} ${route.url}`
  if (access !== 'user' && access !== 'owner' && access !== 'public') {
    throw new TypeError(`${where} has the access "${String(access)}". Use "user", "owner" or "public".`)
  }
  if (access === 'public' && (typeof publicReason !== 'string' || publicReason === '')) {
    throw new TypeError(`${where} is public. Say why in "publicReason", for those who audit the node.`)
  }
  if (route.constraints !== undefined && Object.keys(route.constraints).length > 0) {
    throw new TypeError(`${where} has constraints, which the node's route table does not know.`)
  }
  return {
    access,
    publicReason: access === 'public' ? String(publicReason) : null,
    scope: typeof scope === 'string' ? scope : null,
    websocket: isWebSocket(route),
    schema: route.schema ?? null,
  }
}
