import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { RouteTable } from '../http/route-table.ts'
import { createOpenApiDocument } from './openapi-document.ts'

/** `GET /openapi.json`: all routes that are there now. It is made when first asked for and when plugins change. */
export function openApiRoute(app: RoutesApp, table: RouteTable, version: string): void {
  let latest: { readonly tableVersion: number; readonly document: Promise<object> } | null = null
  app.get(
    '/openapi.json',
    {
      schema: {
        summary: 'This description of the interface',
        tags: ['system'],
        response: { 200: Type.Object({}, { additionalProperties: true }) },
      },
    },
    async (_request, reply) => {
      if (latest?.tableVersion !== table.version) {
        const document = createOpenApiDocument(table.routesByOwner, version, app.log)
        const made = { tableVersion: table.version, document }
        latest = made
        document.catch(() => {
          if (latest === made) latest = null
        })
      }
      return reply
        .type('application/json; charset=utf-8')
        .serializer(JSON.stringify)
        .send(await latest.document)
    },
  )
}
