import type { RoutesApp } from '@nodekeep/plugin-sdk'
import { archiveRoutes } from './archive-route.ts'
import { type ChangesRouteParts, changesRoute } from './changes-route.ts'
import { entryRoutes } from './entry-routes.ts'
import { listRoute } from './list-route.ts'
import { readRoutes } from './read-route.ts'
import { readdirRoute } from './readdir-route.ts'
import { requireUtf8 } from './request.ts'
import { type UploadRoutesParts, uploadRoutes } from './upload-routes.ts'

/** Registers the file endpoints (interface, "File endpoints"), `PUT /write`, and the routes below `/api/files`. */
export function fileRoutes(parts: UploadRoutesParts & ChangesRouteParts): (app: RoutesApp) => Promise<void> {
  return async (app) => {
    requireUtf8(app)
    readRoutes(app, parts.files)
    readdirRoute(app, parts.files)
    listRoute(app, parts.files)
    archiveRoutes(app, parts.files)
    entryRoutes(app, parts.files)
    changesRoute(app, parts)
    // Nested, so that only uploads get their bodies unparsed.
    await app.register(async (uploads: RoutesApp) => uploadRoutes(uploads, parts))
  }
}
