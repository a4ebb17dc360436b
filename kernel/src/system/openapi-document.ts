import { errorStatus, Type } from '@nodekeep/plugin-sdk'
import Fastify, { type FastifyInstance, type FastifySchema, type HTTPMethods } from 'fastify'
import type { MountedRoute } from '../http/route-table.ts'

/** The methods that OpenAPI 3.1 can describe, but for HEAD, which every GET route has. */
const describable = new Set(['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])

const errorSchema = Type.Object(
  {
    error: Type.Literal(true),
    message: Type.String({ description: 'What went wrong and what to do, for people.' }),
    code: Type.Enum(Object.keys(errorStatus), { description: 'For programs. It does not change.' }),
  },
  { $id: 'Error' },
)

/**
 * Writes an OpenAPI 3.1 document of routes. They are registered once more on an instance that never answers,
 * since @fastify/swagger reads routes from an instance, and the node's are spread over many.
 */
export async function createOpenApiDocument(
  routes: readonly MountedRoute[],
  version: string,
): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger')
  const app = Fastify({ logger: false, exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.addSchema(errorSchema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Nodekeep', version, description: 'The interface of this personal node.' },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A session token or an API token.' },
          cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
        },
      },
    },
    refResolver: { buildLocalReference: ({ $id }, _uri, _fragment, i) => String($id ?? `schema-${i}`) },
  })
  for (const route of routes) {
    if (!describable.has(route.method) || route.websocket) continue
    app.register((scope, _options, done) => {
      describe(scope, route)
      done()
    })
  }
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document
}

function describe(
  scope: FastifyInstance,
  { method, path, schema, access, sharedSchemas }: MountedRoute,
): void {
  for (const shared of sharedSchemas) scope.addSchema(shared)
  const given = (schema ?? {}) as FastifySchema
  const response = (given.response ?? {}) as Record<string, unknown>
  scope.route({
    method: method as HTTPMethods,
    url: path,
    schema: {
      ...given,
      ...(given.querystring === undefined ? {} : { querystring: toSend(given.querystring) }),
      ...(given.headers === undefined ? {} : { headers: toSend(given.headers) }),
      ...(access === 'public' ? {} : { security: [{ bearer: [] }, { cookie: [] }] }),
      response: { ...response, default: { description: 'An error', $ref: 'Error#' } },
    },
    handler: () => undefined,
  })
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
