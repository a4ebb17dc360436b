import {
  changeHeaders,
  clientSignal,
  type FileEntry,
  type FilesService,
  type RoutesApp,
  type Static,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AddedHeaders } from './added-headers.ts'
import { refuseConditions, removeConditions, transferConditions } from './conditional-requests.ts'
import { changedFilesOf, userFilesOf } from './request.ts'
import {
  changedPath,
  deleteBody,
  entityTagHeader,
  fileMetadata,
  pathBody,
  pathQuery,
  success,
  transferBody,
  transferredPath,
} from './schemas.ts'
import { entityTag } from './version-headers.ts'

const reading = { scope: 'files:read' }
const writing = { scope: 'files:write' }
/** A large folder takes longer to copy, to move or to delete than an answer may take otherwise. */
const writingLate = { ...writing, answersLate: true }

/** Registers `GET /stat`, `POST /mkdir`, `POST /delete`, `POST /move` and `POST /api/files/copy`. */
export function entryRoutes(app: RoutesApp, files: FilesService, headersOf: AddedHeaders): void {
  const stat = {
    operationId: 'getMetadata',
    summary: 'Get the metadata of a file or folder',
    querystring: pathQuery,
    response: { 200: { ...fileMetadata, headers: entityTagHeader } },
  }
  app.get('/stat', { schema: stat, config: reading }, async (request, reply) => {
    const entry = await userFilesOf(files, request).stat(request.query.path)
    nameVersion(reply, entry)
    const added = entry.type === 'file' ? headersOf(request, entry) : null
    if (added !== null) reply.headers(await added)
    return metadataOf(entry)
  })

  const mkdir = {
    operationId: 'makeFolder',
    summary: 'Make a folder',
    headers: changeHeaders,
    body: pathBody,
    response: { 200: changedPath },
  }
  app.post('/mkdir', { schema: mkdir, config: writing }, async (request) => {
    refuseConditions(request.headers)
    const { path } = await changedFilesOf(files, request).makeDirectory(request.body.path)
    return { success: true, path }
  })

  const remove = {
    operationId: 'deleteEntry',
    summary: 'Delete a file or folder',
    headers: changeHeaders,
    body: deleteBody,
    response: { 200: success },
  }
  app.post('/delete', { schema: remove, config: writingLate }, async (request) => {
    const view = changedFilesOf(files, request)
    const { path, onlyIfEmpty = false } = request.body
    await view.remove(path, {
      onlyIfEmpty,
      ...(await removeConditions(view, path, request.headers)),
    })
    return { success: true }
  })

  const move = {
    operationId: 'moveEntry',
    summary: 'Move or rename a file or folder',
    headers: changeHeaders,
    body: transferBody,
    response: { 200: transferredPath },
  }
  const copy = {
    operationId: 'copyEntry',
    summary: 'Copy a file or folder',
    headers: changeHeaders,
    body: transferBody,
    response: { 200: transferredPath },
  }
  app.post('/move', { schema: move, config: writingLate }, (request, reply) =>
    transfer('move', request, reply),
  )
  app.post('/api/files/copy', { schema: copy, config: writingLate }, (request, reply) =>
    transfer('copy', request, reply),
  )

  async function transfer(
    method: 'move' | 'copy',
    request: FastifyRequest<{ Body: Static<typeof transferBody> }>,
    reply: FastifyReply,
  ) {
    const view = changedFilesOf(files, request)
    const { source, destination, overwrite = false } = request.body
    const conditions = await transferConditions(view, source, request.headers)
    const options = { ...conditions, overwrite, signal: clientSignal(reply) }
    const entry = await view[method](source, destination, options)
    nameVersion(reply, entry)
    return { success: true, path: entry.path }
  }
}

/** Folders have no version. */
function nameVersion(reply: FastifyReply, entry: FileEntry): void {
  if (entry.type === 'file') reply.header('etag', entityTag(entry))
}

function metadataOf({ name, path, type, size, modified, created }: FileEntry) {
  return { name, path, type, size, modified: modified.toISOString(), created: created.toISOString() }
}
