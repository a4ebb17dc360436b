import { errorStatus, Type } from '@nodekeep/plugin-sdk'
import Fastify, { type FastifySchema, type HTTPMethods } from 'fastify'
import type { MountedRoute } from '../http/route-table.ts'

const errorBody = Type.Object({
  error: Type.Literal(true),
  message: Type.String(),
  code: Type.Union(Object.keys(errorStatus).map((code) => Type.Literal(code))),
})

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
  })
  for (const route of routes) {
    if (route.method === 'HEAD') continue
    app.route({
      method: route.method as HTTPMethods,
      url: route.path,
      schema: described(route),
      handler: () => undefined,
    })
  }
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document
}

function described({ schema, access }: MountedRoute): FastifySchema {
  const given = (schema ?? {}) as FastifySchema
  const response = (given.response ?? {}) as Record<string, unknown>
  return {
    ...given,
    ...(access === 'public' ? {} : { security: [{ bearer: [] }, { cookie: [] }] }),
    response: { ...response, default: { description: 'An error', ...errorBody } },
  }
}
