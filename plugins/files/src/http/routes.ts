import type { RoutesApp } from '@nodekeep/plugin-sdk'
import type { Undo } from '../undo/undo.ts'
import { archiveRoutes } from './archive-route.ts'
import { type ChangesRouteServices, changesRoutes } from './changes-route.ts'
import { type EntryRouteServices, entryRoutes } from './entry-routes.ts'
import { keptRoutes } from './kept-routes.ts'
import { listRoute } from './list-route.ts'
import { readRoutes } from './read-route.ts'
import { readdirRoute } from './readdir-route.ts'
import { requireUtf8 } from './request.ts'
import { undoRoute } from './undo-route.ts'
import { type UploadRouteServices, uploadRoutes } from './upload-routes.ts'
import { type UsageRouteServices, usageRoutes } from './usage-routes.ts'

/** Registers the file endpoints (interface, "File endpoints"), `PUT /write`, and the routes below `/api/files`. */
export function fileRoutes(
  services: UploadRouteServices &
    ChangesRouteServices &
    UsageRouteServices &
    EntryRouteServices & { readonly undo: Undo },
): (app: RoutesApp) => Promise<void> {
  return async (app) => {
    requireUtf8(app)
    readRoutes(app, services)
    readdirRoute(app, services.files)
    listRoute(app, services.files, services.kept)
    archiveRoutes(app, services.files)
    entryRoutes(app, services)
    keptRoutes(app, services.kept)
    undoRoute(app, services.undo)
    changesRoutes(app, services)
    usageRoutes(app, services)
    // Nested, so that only uploads get their bodies unparsed.
    await app.register(async (uploads: RoutesApp) => uploadRoutes(uploads, services))
  }
}
