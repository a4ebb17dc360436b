import type { RoutesApp } from '@nodekeep/plugin-sdk'
import { entryRoutes } from './entry-routes.ts'
import { readRoutes } from './read-route.ts'
import { readdirRoute } from './readdir-route.ts'
import { requireUtf8 } from './request.ts'
import { type UploadRoutesParts, uploadRoutes } from './upload-routes.ts'

/** Registers the file endpoints (interface, "File endpoints"), and `PUT /write`. */
export function fileRoutes(parts: UploadRoutesParts): (app: RoutesApp) => Promise<void> {
  return async (app) => {
    requireUtf8(app)
    readRoutes(app, parts.files)
    readdirRoute(app, parts.files)
    entryRoutes(app, parts.files)
    // Nested, so that only uploads get their bodies unparsed.
    await app.register(async (uploads: RoutesApp) => uploadRoutes(uploads, parts))
  }
}
