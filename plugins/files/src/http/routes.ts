import type { RoutesApp } from '@nodekeep/plugin-sdk'
import type { AddedHeaders } from './added-headers.ts'
import { archiveRoutes } from './archive-route.ts'
import { type ChangesRouteServices, changesRoutes } from './changes-route.ts'
import { entryRoutes } from './entry-routes.ts'
import { listRoute } from './list-route.ts'
import { type QuotaRouteServices, quotaRoute } from './quota-route.ts'
import { readRoutes } from './read-route.ts'
import { readdirRoute } from './readdir-route.ts'
import { requireUtf8 } from './request.ts'
import { type UploadRouteServices, uploadRoutes } from './upload-routes.ts'
import { type UsageRouteServices, usageRoutes } from './usage-routes.ts'

/** Registers the file endpoints (interface, "File endpoints"), `PUT /write`, and the routes below `/api/files`. */
export function fileRoutes(
  services: UploadRouteServices &
    ChangesRouteServices &
    UsageRouteServices &
    QuotaRouteServices & { readonly headersOf: AddedHeaders },
): (app: RoutesApp) => Promise<void> {
  return async (app) => {
    requireUtf8(app)
    readRoutes(app, services.files, services.headersOf)
    readdirRoute(app, services.files)
    listRoute(app, services.files)
    archiveRoutes(app, services.files)
    entryRoutes(app, services.files, services.headersOf)
    changesRoutes(app, services)
    usageRoutes(app, services)
    quotaRoute(app, services)
    // Nested, so that only uploads get their bodies unparsed.
    await app.register(async (uploads: RoutesApp) => uploadRoutes(uploads, services))
  }
}
