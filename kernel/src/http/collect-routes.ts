import { distance } from 'fastest-levenshtein'
import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import { isPreflight } from './cors.ts'
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

interface RouteConfig {
  readonly [key: string]: unknown
  readonly access?: unknown
  readonly publicReason?: unknown
  readonly scope?: unknown
  readonly rateLimit?: unknown
  readonly body?: unknown
  readonly answersLate?: unknown
}

/** The keys of a route's `config` that the node reads. A plugin may add others for its own hooks. */
const known = ['access', 'publicReason', 'scope', 'rateLimit', 'body', 'answersLate']

/**
 * Reads the options of a route.
 *
 * @throws TypeError for a `config` that would guard the route less than its author means, and for constraints
 */
function factsOf(route: RouteOptions): Omit<MountedRoute, 'method' | 'path' | 'sharedSchemas'> {
  const config = (route.config ?? {}) as RouteConfig
  const { access = 'user', publicReason, scope, rateLimit, body, answersLate } = config
  const where = `The route ${[route.method].flat().join(', ')} ${route.url}`
  for (const key of Object.keys(config)) {
    const meant = misspelt(key)
    if (meant) throw new TypeError(`${where} has "${key}" in its config. Did you mean "${meant}"?`)
  }
  if (access !== 'user' && access !== 'owner' && access !== 'public') {
    throw new TypeError(`${where} has the access "${String(access)}". Use "user", "owner" or "public".`)
  }
  if (access === 'public' && (typeof publicReason !== 'string' || publicReason === '')) {
    throw new TypeError(`${where} is public. Say why in "publicReason", for those who audit the node.`)
  }
  if (scope !== undefined && (typeof scope !== 'string' || !/^[^\s,]{1,100}$/.test(scope))) {
    throw new TypeError(
      `${where} has a "scope" that no token can have. Write up to 100 characters without spaces and commas, such as "notes:read".`,
    )
  }
  if (rateLimit !== undefined && !isRateLimit(rateLimit)) {
    throw new TypeError(
      `${where} has a "rateLimit" that limits nothing. Write { max, timeWindow }: calls, and milliseconds.`,
    )
  }
  if (body !== undefined && body !== 'buffered' && body !== 'stream') {
    throw new TypeError(`${where} has the body "${String(body)}". Use "buffered" or "stream".`)
  }
  if (answersLate !== undefined && typeof answersLate !== 'boolean') {
    throw new TypeError(`${where} has an "answersLate" that is neither true nor false.`)
  }
  if (route.constraints !== undefined && Object.keys(route.constraints).length > 0) {
    throw new TypeError(`${where} has constraints, which the node's route table does not know.`)
  }
  return {
    access,
    publicReason: access === 'public' ? String(publicReason) : null,
    scope: scope ?? null,
    websocket: isWebSocket(route),
    schema: route.schema ?? null,
  }
}

/** Returns the known key that differs from this one by one typing error. */
function misspelt(key: string): string | undefined {
  if (known.includes(key)) return undefined
  return known.find((name) => distance(name.toLowerCase(), key.toLowerCase()) <= 1)
}

function isRateLimit(limit: unknown): boolean {
  const { max, timeWindow } = (limit ?? {}) as { max?: unknown; timeWindow?: unknown }
  return [max, timeWindow].every((value) => Number.isInteger(value) && Number(value) > 0)
}

function isWebSocket({ websocket, wsHandler }: RouteOptions & { websocket?: boolean; wsHandler?: unknown }) {
  return websocket === true || wsHandler !== undefined
}
