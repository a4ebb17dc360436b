import { clientSignal, type FileEntry, type FilesService, type RoutesApp } from '@nodekeep/plugin-sdk'
import { refuseConditions, removeConditions, transferConditions } from './conditional-requests.ts'
import { deviceOf, userFilesOf } from './request.ts'
import {
  changedPath,
  deleteBody,
  fileMetadata,
  metadataHeaders,
  moveBody,
  pathBody,
  pathQuery,
  success,
} from './schemas.ts'
import { entityTag } from './send-file.ts'

const reading = { scope: 'files:read' }
const writing = { scope: 'files:write' }

/** Registers `GET /stat`, `POST /mkdir`, `POST /delete` and `POST /move`. */
export function entryRoutes(app: RoutesApp, files: FilesService): void {
  const stat = {
    operationId: 'getMetadata',
    summary: 'Get the metadata of a file or folder',
    querystring: pathQuery,
    response: { 200: { ...fileMetadata, headers: metadataHeaders } },
  }
  app.get('/stat', { schema: stat, config: reading }, async (request, reply) => {
    const entry = await userFilesOf(files, request).stat(request.query.path)
    if (entry.type === 'file') reply.header('etag', entityTag(entry))
    return metadataOf(entry)
  })

  const mkdir = {
    operationId: 'makeFolder',
    summary: 'Make a folder',
    body: pathBody,
    response: { 200: changedPath },
  }
  app.post('/mkdir', { schema: mkdir, config: writing }, async (request) => {
    refuseConditions(request.headers)
    const { path } = await userFilesOf(files, request).makeDirectory(request.body.path, deviceOf(request))
    return { success: true, path }
  })

  const remove = {
    operationId: 'deleteEntry',
    summary: 'Delete a file or folder',
    body: deleteBody,
    response: { 200: success },
  }
  app.post('/delete', { schema: remove, config: writing }, async (request) => {
    const view = userFilesOf(files, request)
    const { path, onlyIfEmpty = false } = request.body
    await view.remove(path, {
      ...deviceOf(request),
      onlyIfEmpty,
      ...(await removeConditions(view, path, request.headers)),
    })
    return { success: true }
  })

  const move = {
    operationId: 'moveEntry',
    summary: 'Move or rename a file or folder',
    body: moveBody,
    response: { 200: changedPath },
  }
  app.post('/move', { schema: move, config: writing }, async (request, reply) => {
    const view = userFilesOf(files, request)
    const { source, destination, overwrite = false } = request.body
    const conditions = await transferConditions(view, source, request.headers)
    const options = { ...deviceOf(request), ...conditions, overwrite, signal: clientSignal(reply) }
    const { path } = await view.move(source, destination, options)
    return { success: true, path }
  })
}

function metadataOf({ name, path, type, size, modified, created }: FileEntry) {
  return { name, path, type, size, modified: modified.toISOString(), created: created.toISOString() }
}
