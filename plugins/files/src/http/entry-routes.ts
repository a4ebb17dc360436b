import {
  type AuthenticatedUser,
  changeHeaders,
  changeOrigin,
  clientSignal,
  type FileEntry,
  type FilesService,
  NodekeepError,
  type RoutesApp,
  type Static,
  undoHeader,
  userOf,
} from '@nodekeep/plugin-sdk'
import {
  nameVersion,
  refuseConditions,
  removeConditions,
  transferConditions,
} from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { KeptFilesService } from '../kept/kept-files.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { userPath } from '../paths/user-path.ts'
import type { AddedHeaders } from './added-headers.ts'
import { userFilesOf } from './request.ts'
import {
  changedPath,
  deleteBody,
  deleted,
  deletedHeader,
  entityTagHeader,
  fileMetadata,
  pathBody,
  pathQuery,
  transferBody,
  transferredPath,
} from './schemas.ts'

const reading = { scope: 'files:read' }
const writing = { scope: 'files:write' }
/** A large folder takes longer to copy, to move or to delete than an answer may take otherwise. */
const writingLate = { ...writing, answersLate: true }

export interface EntryRouteServices {
  readonly files: FilesService
  readonly kept: KeptFilesService
  readonly mounts: Pick<Mounts, 'pointOf' | 'locate'>
  readonly headersOf: AddedHeaders
}

/** Registers `GET /stat`, `POST /mkdir`, `POST /delete`, `POST /move` and `POST /api/files/copy`. */
export function entryRoutes(app: RoutesApp, { files, kept, mounts, headersOf }: EntryRouteServices): void {
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
  app.post('/mkdir', { schema: mkdir, config: writing }, async (request, reply) => {
    refuseConditions(request.headers)
    const origin = changeOrigin(request)
    const { path } = await files.for(userOf(request), origin).makeDirectory(request.body.path)
    reply.header(undoHeader, origin.group)
    return { success: true, path }
  })

  const remove = {
    operationId: 'deleteEntry',
    summary: 'Delete a file or folder',
    headers: changeHeaders,
    body: deleteBody,
    response: { 200: deleted },
  }
  app.post('/delete', { schema: remove, config: writingLate }, async (request, reply) => {
    const user = userOf(request)
    const { path, onlyIfEmpty = false, permanent = false } = request.body
    if (permanent) demandPurge(user)
    const origin = changeOrigin(request)
    const view = files.for(user, origin)
    await view.remove(path, {
      onlyIfEmpty,
      permanent,
      ...(await removeConditions(view, path, request.headers)),
    })
    const isKept = !permanent && !onlyIfEmpty && kept.for(user).keeps(path).trash
    if (isKept || onlyIfEmpty) reply.header(undoHeader, origin.group)
    reply.header(deletedHeader, isKept ? 'trash' : 'for-good')
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

  /** Whether a storage moves. Otherwise a move copies, and removes its source for good. */
  function movesItself({ uuid }: AuthenticatedUser, source: string, destination: string): boolean {
    const from = userPath(source, 'The source')
    const to = userPath(destination, 'The destination')
    return mounts.pointOf(from) === mounts.pointOf(to) && mounts.locate(uuid, from).backend.move !== undefined
  }

  async function transfer(
    method: 'move' | 'copy',
    request: FastifyRequest<{ Body: Static<typeof transferBody> }>,
    reply: FastifyReply,
  ) {
    const user = userOf(request)
    const origin = changeOrigin(request)
    const view = files.for(user, origin)
    const { source, destination, overwrite = false } = request.body
    const conditions = await transferConditions(view, source, request.headers)
    const options = { ...conditions, overwrite, signal: clientSignal(reply) }
    const removesSource = method === 'move' && !movesItself(user, source, destination)
    const entry = await view[method](source, destination, options)
    const { trash, versions } = kept.for(user).keeps(destination)
    const keepsReplaced = !overwrite || (entry.type === 'file' ? versions : trash)
    // The undo of a copy removes it.
    const keepsCopy = method === 'move' || trash
    if (keepsReplaced && keepsCopy && !removesSource) reply.header(undoHeader, origin.group)
    nameVersion(reply, entry)
    return { success: true, path: entry.path }
  }
}

/** @throws NodekeepError FORBIDDEN for an API token that may write, but not delete for good */
function demandPurge({ scopes }: AuthenticatedUser): void {
  if (scopes === null || scopes.includes('files:purge')) return
  throw new NodekeepError(
    'FORBIDDEN',
    'This API token may not delete for good: it needs the scope "files:purge" too. Leave out "permanent" to delete into the trash.',
  )
}

function metadataOf({ name, path, type, size, modified, created }: FileEntry) {
  return { name, path, type, size, modified: modified.toISOString(), created: created.toISOString() }
}
