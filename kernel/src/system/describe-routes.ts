import Fastify, { type FastifySchema, type HTTPMethods } from 'fastify'
import type { MountedRoute } from '../http/route-table.ts'

/** What an OpenAPI document says of some routes. */
export interface RouteDescription {
  /** Operations by method, by path. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

export interface Operation {
  readonly responses: Readonly<Record<string, unknown>>
}

/** How a client may show who it is. */
export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A session token or an API token.' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
} as const

/**
 * Describes routes for an OpenAPI 3.1 document. They are registered once more on an instance that never answers, since
 * @fastify/swagger reads routes from an instance.
 *
 * @param nameOf gives the schema with an `$id` its name in the document
 * @throws whatever the routes' schemas bring about: they were good enough to answer with, which says little
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
        url: path,
        schema: schemaOf(schema, access === 'public'),
        handler: () => undefined,
      })
    }
    await app.ready()
    // What no JSON can say is to be found out here, and not where the document is sent.
    return JSON.parse(JSON.stringify(app.swagger())) as RouteDescription
  } finally {
    await app.close()
  }
}

/** The schemas that routes may refer to, by their `$id`. */
export function sharedSchemasOf(routes: readonly MountedRoute[]): Map<string, object> {
  const shared = routes.flatMap(({ sharedSchemas }) => sharedSchemas as readonly { $id: string }[])
  return new Map(shared.map((schema) => [schema.$id, schema]))
}

function schemaOf(schema: unknown, isPublic: boolean): FastifySchema {
  const given = (schema ?? {}) as FastifySchema
  refuseWrongWords(given)
  return {
    ...given,
    ...(given.querystring === undefined ? {} : { querystring: toSend(given.querystring) }),
    ...(given.headers === undefined ? {} : { headers: toSend(given.headers) }),
    ...(isPublic ? {} : { security: [{ bearer: [] }, { cookie: [] }] }),
    response: given.response ?? {},
  }
}

/** Fastify reads them nowhere and takes anything, which would stand in the document as it is. */
function refuseWrongWords(schema: FastifySchema): void {
  const words = schema as Readonly<Record<string, unknown>>
  for (const key of ['summary', 'description', 'operationId']) {
    if (!['string', 'undefined'].includes(typeof words[key])) throw new TypeError(`"${key}" must be a text.`)
  }
  const { tags = [] } = words
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string')) {
    throw new TypeError('"tags" must be a list of texts.')
  }
}

/** TypeBox calls a field with a default required, since it is there for who reads it. For who sends it, it is not. */
function toSend(schema: unknown): unknown {
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
