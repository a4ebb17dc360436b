import type { FilesService, RoutesApp } from '@nodekeep/plugin-sdk'
import { entryRoutes } from './entry-routes.ts'
import { readRoutes } from './read-route.ts'
import { readdirRoute } from './readdir-route.ts'
import type { Spool } from './spool.ts'
import { uploadRoutes } from './upload-routes.ts'
import { demandUtf8 } from './well-formed.ts'

export interface FileRoutesParts {
  readonly files: FilesService
  readonly spool: Spool
  /** Bytes. */
  readonly maxFileSize: number
}

/** Registers the file endpoints (interface, "File endpoints"), and `PUT /write`. */
export function fileRoutes(parts: FileRoutesParts): (app: RoutesApp) => Promise<void> {
  return async (app) => {
    demandUtf8(app)
    readRoutes(app, parts.files)
    readdirRoute(app, parts.files)
    entryRoutes(app, parts.files)
    // Nested, so that only uploads get their bodies unparsed.
    await app.register(async (uploads: RoutesApp) => uploadRoutes(uploads, parts))
  }
}
