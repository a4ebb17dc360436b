import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import { rightsOf } from './route-config.ts'
import type { MountedRoute } from './route-table.ts'

/**
 * Collects the routes of an app while they are registered. Refuses a route whose `config` would not guard it as
 * meant.
 */
export function collectRoutes(app: FastifyInstance): MountedRoute[] {
  const routes: MountedRoute[] = []
  const atPrefix = new Set<MountedRoute>()
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    if (isPreflight(route)) return
    const facts = { path: route.url, sharedSchemas: Object.values(this.getSchemas()), ...factsOf(route) }
    for (const method of [route.method].flat()) {
      const collected = { method, ...facts }
      routes.push(collected)
      if (route.routePath === '') atPrefix.add(collected)
    }
  })
  app.addHook('onReady', (done) => {
    for (const route of atPrefix) routes.push(...slashedTwin(app, route, routes))
    done()
  })
  return routes
}

/**
 * Returns the route with a slash at the end, which Fastify registers beside the route `/` below a prefix without
 * calling the hook. Returns nothing if the app registered that route itself.
 */
function slashedTwin(app: FastifyInstance, route: MountedRoute, known: readonly MountedRoute[]) {
  const { method } = route
  const path = `${route.path}/`
  if (known.some((other) => other.method === method && other.path === path)) return []
  if (!app.hasRoute({ method: method as HTTPMethods, url: path })) return []
  // The OpenAPI document describes the route once.
  return [{ ...route, path, schema: { hide: true } }]
}

/**
 * Returns whether this is the route that @fastify/cors adds to every instance. Only the kernel's answers preflights.
 */
function isPreflight({ method, url }: RouteOptions): boolean {
  return url === '*' && [method].flat().join() === 'OPTIONS'
}

function isWebSocket({ websocket, wsHandler }: RouteOptions & { websocket?: boolean; wsHandler?: unknown }) {
  return websocket === true || wsHandler !== undefined
}

function factsOf(route: RouteOptions): Omit<MountedRoute, 'method' | 'path' | 'sharedSchemas'> {
  const rights = rightsOf(route)
  if (route.constraints !== undefined && Object.keys(route.constraints).length > 0) {
    const where = `The route ${[route.method].flat().join(', ')} ${route.url}`
    throw new TypeError(`${where} has constraints, which the node's route table does not know.`)
  }
  return { ...rights, websocket: isWebSocket(route), schema: route.schema ?? null }
}
