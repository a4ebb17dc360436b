import { isDeepStrictEqual } from 'node:util'
import { errorStatus, type Log, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import type { NodeOrigins } from '../access/node-origins.ts'
import type { MountedRoute, RouteTable } from '../http/route-table.ts'
import {
  describeRoutes,
  type Operation,
  type RouteDescription,
  securitySchemes,
  sharedSchemasOf,
} from './describe-routes.ts'

/** The methods that OpenAPI 3.1 can describe, without HEAD, which every GET route has. */
const describable = new Set(['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])

/** The names of plugins' schemas begin with the plugin's id and a dot, so none equals this name. */
const errorName = 'Error'

const errorSchema = Type.Object({
  error: Type.Literal(true),
  message: Type.String({ description: 'The problem and the remedy, for people.' }),
  code: Type.Enum(Object.keys(errorStatus), {
    description: 'The kind of error, for programs. Codes do not change.',
  }),
})

const errorResponse = {
  description: 'An error',
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${errorName}` } } },
}

const nothing: RouteDescription = { paths: {}, components: { schemas: {} } }

/** `GET /openapi.json`: all current routes. The document is created at the first request and after plugins changed. */
export function openApiRoute(app: RoutesApp, table: RouteTable, origins: NodeOrigins, version: string): void {
  let latest: { readonly mounts: RouteTable['mounts']; readonly document: Promise<object> } | null = null
  app.get(
    '/openapi.json',
    {
      schema: {
        operationId: 'getOpenApi',
        summary: 'This description of the interface',
        tags: ['system'],
        response: {
          200: Type.Object(
            {
              servers: Type.Array(Type.Object({ url: Type.String() }), {
                description: 'The address of this request, then the other public addresses of the node.',
              }),
            },
            { additionalProperties: true },
          ),
        },
      },
    },
    async (request, reply) => {
      const { mounts } = table
      if (latest?.mounts !== mounts) {
        const document = createDocument(mounts, version, app.log)
        const created = { mounts, document }
        latest = created
        document.catch(() => {
          if (latest === created) latest = null
        })
      }
      return reply
        .type('application/json; charset=utf-8')
        .serializer(JSON.stringify)
        .send({ ...(await latest.document), servers: serversFor(request, origins) })
    },
  )
}

/**
 * Creates an OpenAPI 3.1 document of routes. An `$id` of a schema is valid within its owner only: in the document the
 * schema is called `<owner>.<id>`.
 *
 * @param log takes a warning for each route that cannot be described and is left out
 */
async function createDocument(
  mounts: RouteTable['mounts'],
  version: string,
  log: Pick<Log, 'warn'>,
): Promise<object> {
  const paths: Record<string, Record<string, unknown>> = {}
  const schemas: Record<string, unknown> = { [errorName]: errorSchema }
  const uniqueId = uniqueIds()
  for (const [owner, { routes }] of mounts) {
    const described = routes.filter(({ method, websocket }) => describable.has(method) && !websocket)
    for (const group of groupsOf(described)) {
      const { paths: found, components } = await describeAll(
        owner,
        group,
        () => namesFor(owner, schemas),
        log,
      )
      Object.assign(schemas, components.schemas)
      for (const [path, operations] of Object.entries(found)) {
        paths[path] ??= {}
        for (const [method, operation] of Object.entries(operations)) {
          const { operationId = derivedId(method, path), tags = [owner], responses } = operation
          paths[path][method] = {
            ...operation,
            operationId: uniqueId(operationId, owner),
            tags,
            responses: {
              ...(isDescribed(responses) ? {} : undescribed),
              ...responses,
              default: errorResponse,
            },
          }
        }
      }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Nodekeep', version, description: 'The interface of this personal node.' },
    components: { securitySchemes, schemas },
    paths,
  }
}

/** Returns the address at which the reader of the document reached the node, then the other public ones. */
function serversFor(request: FastifyRequest, origins: NodeOrigins): { readonly url: string }[] {
  let reached = '/'
  try {
    reached = origins.originOf(request).origin
  } catch {
    // The client used a name that the node does not go by. A relative URL is right for it, too.
  }
  return [...new Set([reached, ...origins.publicOrigins()])].map((url) => ({ url }))
}

/** Returns whether an answer of a route that succeeds is described. */
function isDescribed(responses: Operation['responses']): boolean {
  return Object.keys(responses).some((status) => /^[23]/.test(status))
}

/** Without it, generated clients take the error for the only answer. */
const undescribed = { 200: { description: 'An answer that the route does not describe.' } }

/** Makes an id of method and path: `getNotesById` for `GET /notes/{id}`. */
function derivedId(method: string, path: string): string {
  const words = path
    .replaceAll(/\{(\w+)\}/g, 'by-$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** Returns a function that keeps an id that is new, and otherwise adds the owner, and a number if need be. */
function uniqueIds(): (id: string, owner: string) => string {
  const given = new Set<string>()
  return (id, owner) => {
    return uniqueName(given.has(id) ? `${owner}.${id}` : id, given)
  }
}

/** Groups routes that can be described together: within a group, an `$id` always means the same schema. */
function groupsOf(routes: readonly MountedRoute[]): MountedRoute[][] {
  const groups: MountedRoute[][] = []
  for (const route of routes) {
    const group = groups.find((others) => {
      const known = sharedSchemasOf(others)
      return [...sharedSchemasOf([route])].every(
        ([id, schema]) => !known.has(id) || isDeepStrictEqual(known.get(id), schema),
      )
    })
    if (group === undefined) groups.push([route])
    else group.push(route)
  }
  return groups
}

/** Describes routes together. Routes that cannot be described even alone are left out. */
async function describeAll(
  owner: string,
  routes: readonly MountedRoute[],
  newNames: () => (id: string) => string,
  log: Pick<Log, 'warn'>,
): Promise<RouteDescription> {
  try {
    return await describeRoutes(routes, newNames())
  } catch (err) {
    const sound: MountedRoute[] = []
    for (const route of routes) {
      try {
        await describeRoutes([route], newNames())
        sound.push(route)
      } catch (fault) {
        log.warn({ plugin: owner, route: `${route.method} ${route.path}`, err: fault }, leftOut)
      }
    }
    if (sound.length < routes.length) return describeAll(owner, sound, newNames, log)
    log.warn({ plugin: owner, err }, leftOut)
    return nothing
  }
}

const leftOut = 'GET /openapi.json leaves out routes whose schema cannot be described.'

/** Creates unique names for the schemas of one owner. OpenAPI allows letters, digits and `._-` in them. */
function namesFor(owner: string, taken: Readonly<Record<string, unknown>>): (id: string) => string {
  const given = new Set(Object.keys(taken))
  return (id) => {
    return uniqueName(`${owner}.${id.replaceAll(/[^\w.-]+/g, '_')}`, given)
  }
}

/** Adds a name to those that are given, with a number if it is one of them. */
function uniqueName(wanted: string, given: Set<string>): string {
  let name = wanted
  for (let n = 2; given.has(name); n += 1) name = `${wanted}-${n}`
  given.add(name)
  return name
}
