import { isDeepStrictEqual } from 'node:util'
import { errorStatus, type Log, Type } from '@nodekeep/plugin-sdk'
import type { MountedRoute } from '../http/route-table.ts'
import { describeRoutes, type RouteDescription, securitySchemes, sharedSchemasOf } from './describe-routes.ts'

/** The methods that OpenAPI 3.1 can describe, but for HEAD, which every GET route has. */
const describable = new Set(['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])

/** Plugins cannot take this name: those of their schemas begin with their id and a dot. */
const errorName = 'Error'

const errorSchema = Type.Object({
  error: Type.Literal(true),
  message: Type.String({ description: 'What went wrong and what to do, for people.' }),
  code: Type.Enum(Object.keys(errorStatus), { description: 'For programs. It does not change.' }),
})

const errorResponse = {
  description: 'An error',
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${errorName}` } } },
}

const nothing: RouteDescription = { paths: {}, components: { schemas: {} } }

/**
 * Writes an OpenAPI 3.1 document of routes. Whoever names a schema by an `$id` names it for themselves: in the document
 * it is called `<owner>.<id>`.
 *
 * @param routesByOwner the routes of each plugin and of the kernel
 * @param log hears of routes that cannot be described and are left out
 */
export async function createOpenApiDocument(
  routesByOwner: ReadonlyMap<string, readonly MountedRoute[]>,
  version: string,
  log: Pick<Log, 'warn'>,
): Promise<object> {
  const paths: Record<string, Record<string, unknown>> = {}
  const schemas: Record<string, unknown> = { [errorName]: errorSchema }
  for (const [owner, routes] of routesByOwner) {
    const there = routes.filter(({ method, websocket }) => describable.has(method) && !websocket)
    for (const group of groupsOf(there)) {
      const { paths: found, components } = await describeSound(
        owner,
        group,
        () => namesFor(owner, schemas),
        log,
      )
      Object.assign(schemas, components.schemas)
      for (const [path, operations] of Object.entries(found)) {
        paths[path] ??= {}
        for (const [method, operation] of Object.entries(operations)) {
          paths[path][method] = {
            ...operation,
            responses: { ...operation.responses, default: errorResponse },
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

/** Routes that can be described together: by one `$id` they all mean the same schema. */
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

/** Describes routes together, without those that cannot be described alone. */
async function describeSound(
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
    if (sound.length < routes.length) return describeSound(owner, sound, newNames, log)
    log.warn({ plugin: owner, err }, leftOut)
    return nothing
  }
}

const leftOut = 'GET /openapi.json leaves out what has a schema that cannot be described.'

/** Makes names for the schemas of one owner, none twice: OpenAPI allows letters, digits and `._-` in them. */
function namesFor(owner: string, taken: Readonly<Record<string, unknown>>): (id: string) => string {
  const given = new Set(Object.keys(taken))
  return (id) => {
    const wanted = `${owner}.${id.replaceAll(/[^\w.-]+/g, '_')}`
    let name = wanted
    for (let n = 2; given.has(name); n += 1) name = `${wanted}-${n}`
    given.add(name)
    return name
  }
}
