import { distance } from 'fastest-levenshtein'
import type { RouteOptions } from 'fastify'

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

/** The rights that a call of a route needs. */
interface RouteRights {
  readonly access: 'user' | 'owner' | 'public'
  readonly publicReason: string | null
  readonly scope: string | null
}

/**
 * Reads the `config` of a route.
 *
 * @throws TypeError for a `config` that would guard the route less than its author means
 */
export function rightsOf(route: RouteOptions): RouteRights {
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
  return { access, publicReason: access === 'public' ? String(publicReason) : null, scope: scope ?? null }
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
