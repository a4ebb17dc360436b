import Fastify, { type FastifySchema, type HTTPMethods } from 'fastify'
import type { MountedRoute } from '../http/route-table.ts'

/** The parts of an OpenAPI document that describe some routes. */
export interface RouteDescription {
  /** Operations by method, by path. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

export interface Operation {
  readonly operationId?: string
  readonly tags?: readonly string[]
  readonly responses: Readonly<Record<string, unknown>>
}

/** The ways in which a client can authenticate. */
export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A session token or an API token.' },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'session',
    description:
      "A session token. A sign-in also sets a cookie with a name of the node's own, which counts first: another node on the host may replace the cookie `session`.",
  },
} as const

/**
 * Describes routes for an OpenAPI 3.1 document. The routes are registered again on an instance that never answers, since
 * @fastify/swagger reads routes from an instance.
 *
 * @param nameOf returns the name in the document for a schema's `$id`
 * @throws any error that the routes' schemas cause: a schema that Fastify accepts may still be invalid
 */
export async function describeRoutes(
  routes: readonly MountedRoute[],
  nameOf: (id: string) => string,
): Promise<RouteDescription> {
  const { default: swagger } = await import('@fastify/swagger')
  const app = Fastify({ logger: false, exposeHeadRoutes: false })
  try {
    app.setValidatorCompiler(() => () => true)
    app.setSerializerCompiler(() => JSON.stringify)
    for (const shared of sharedSchemasOf(routes).values()) app.addSchema(shared)
    await app.register(swagger, {
      openapi: { openapi: '3.1.0', components: { securitySchemes } },
      refResolver: { buildLocalReference: ({ $id }) => nameOf(String($id)) },
    })
    for (const { method, path, schema, access } of routes) {
      app.route({
        method: method as HTTPMethods,
        url: namedWildcard(path),
        schema: schemaOf(schema, access === 'public'),
        handler: () => undefined,
      })
    }
    await app.ready()
    // A value that JSON cannot express must fail here, not when the document is sent.
    return JSON.parse(JSON.stringify(app.swagger())) as RouteDescription
  } finally {
    await app.close()
  }
}

/** Returns the schemas that routes may refer to, by their `$id`. */
export function sharedSchemasOf(routes: readonly MountedRoute[]): Map<string, object> {
  const shared = routes.flatMap(({ sharedSchemas }) => sharedSchemas as readonly { $id: string }[])
  return new Map(shared.map((schema) => [schema.$id, schema]))
}

function schemaOf(schema: unknown, isPublic: boolean): FastifySchema {
  const given = (schema ?? {}) as FastifySchema
  refuseWrongTexts(given)
  return {
    ...given,
    ...(given.querystring === undefined ? {} : { querystring: forSender(given.querystring) }),
    ...(given.requestBody === undefined ? {} : { body: given.requestBody }),
    ...(given.params === undefined ? {} : { params: withNamedWildcard(given.params) }),
    ...(given.headers === undefined ? {} : { headers: forSender(given.headers) }),
    ...(isPublic ? {} : { security: [{ bearer: [] }, { cookie: [] }] }),
    response: given.response ?? {},
  }
}

/** OpenAPI has no wildcards, and generated clients cannot name a parameter `*`. */
function namedWildcard(path: string): string {
  return path.replace(/\/?\*$/, '/:wildcard')
}

function withNamedWildcard(schema: unknown): unknown {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
  if (!('*' in properties)) return schema
  const named = (name: string) => (name === '*' ? 'wildcard' : name)
  return {
    ...(schema as object),
    properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [named(name), value])),
    required: required.map(named),
  }
}

/** Fastify accepts any value for these keys, and the document would contain it unchanged. */
function refuseWrongTexts(schema: FastifySchema): void {
  const words = schema as Readonly<Record<string, unknown>>
  for (const key of ['summary', 'description', 'operationId']) {
    if (!['string', 'undefined'].includes(typeof words[key]))
      throw new TypeError(`"${key}" must be a string.`)
  }
  const { tags = [] } = words
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string')) {
    throw new TypeError('"tags" must be an array of strings.')
  }
}

/** TypeBox marks a field with a default as required, which is true for the reader but not for the sender. */
function forSender(schema: unknown): unknown {
  const { required, properties } = schema as {
    readonly required?: readonly string[]
    readonly properties?: Readonly<Record<string, { readonly default?: unknown }>>
  }
  if (required === undefined || properties === undefined) return schema
  return {
    ...(schema as object),
    required: required.filter((name) => properties[name]?.default === undefined),
  }
}
