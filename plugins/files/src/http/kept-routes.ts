import {
  type ChangeMaker,
  changeHeaders,
  changeOrigin,
  type RoutesApp,
  undoHeader,
  userOf,
} from '@nodekeep/plugin-sdk'
import { nameVersion } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyRequest } from 'fastify'
import type { FileVersion, KeptFilesService, TrashItem, UserKeptFiles } from '../kept/kept-files.ts'
import {
  itemBody,
  restoreBody,
  success,
  transferredPath,
  trashPage,
  trashQuery,
  versionBody,
  versionsPage,
  versionsQuery,
} from './schemas.ts'

const reading = { scope: 'files:read' }
/** A large folder takes longer to restore than an answer may take otherwise. */
const writing = { scope: 'files:write', answersLate: true }
/** These delete for good, so a token that may write may not call them. */
const purging = { scope: 'files:purge', answersLate: true }

/** Registers `/api/files/trash` and `/api/files/versions`, but for the reading of versions. */
export function keptRoutes(app: RoutesApp, kept: KeptFilesService): void {
  const ofUser = (request: FastifyRequest): UserKeptFiles => kept.for(userOf(request))

  const listTrash = {
    operationId: 'listTrash',
    summary: 'List the deleted files and folders',
    querystring: trashQuery,
    response: { 200: trashPage },
  }
  app.get('/api/files/trash', { schema: listTrash, config: reading }, async (request) => {
    const { items, cursor } = await ofUser(request).trash(request.query)
    return { items: items.map(itemOf), cursor, days: kept.trashDays }
  })

  const restore = {
    operationId: 'restoreFromTrash',
    summary: 'Put a deleted file or folder back',
    description: 'If its path is taken, it gets a free name beside it. The answer has the path.',
    headers: changeHeaders,
    body: restoreBody,
    response: { 200: transferredPath },
  }
  app.post('/api/files/trash/restore', { schema: restore, config: writing }, async (request, reply) => {
    const origin = changeOrigin(request)
    const { id, destination } = request.body
    const view = kept.for(userOf(request), origin)
    const entry = await view.restore(id, destination)
    if (view.keeps(entry.path).trash) reply.header(undoHeader, origin.group)
    nameVersion(reply, entry)
    return { success: true, path: entry.path }
  })

  const remove = {
    operationId: 'deleteFromTrash',
    summary: 'Delete a file or folder of the trash for good',
    body: itemBody,
    response: { 200: success },
  }
  app.post('/api/files/trash/delete', { schema: remove, config: purging }, async (request) => {
    await ofUser(request).deleteItem(request.body.id)
    return { success: true }
  })

  const empty = {
    operationId: 'emptyTrash',
    summary: 'Delete everything in the trash for good',
    response: { 200: success },
  }
  app.post('/api/files/trash/empty', { schema: empty, config: purging }, async (request) => {
    await ofUser(request).emptyTrash()
    return { success: true }
  })

  const listVersions = {
    operationId: 'listVersions',
    summary: 'List the former contents of a file',
    querystring: versionsQuery,
    response: { 200: versionsPage },
  }
  app.get('/api/files/versions', { schema: listVersions, config: reading }, async (request) => {
    const { path, ...page } = request.query
    const { items, cursor } = await ofUser(request).versions(path, page)
    return { versions: items.map(versionOf), cursor }
  })

  const restoreVersion = {
    operationId: 'restoreVersion',
    summary: 'Make a version the content of the file again',
    description: 'The present content becomes a version.',
    headers: changeHeaders,
    body: versionBody,
    response: { 200: transferredPath },
  }
  app.post(
    '/api/files/versions/restore',
    { schema: restoreVersion, config: writing },
    async (request, reply) => {
      const origin = changeOrigin(request)
      const { path, id } = request.body
      const entry = await kept.for(userOf(request), origin).restoreVersion(path, id)
      reply.header(undoHeader, origin.group)
      nameVersion(reply, entry)
      return { success: true, path: entry.path }
    },
  )

  const removeVersion = {
    operationId: 'deleteVersion',
    summary: 'Delete a version of a file for good',
    body: versionBody,
    response: { 200: success },
  }
  app.post('/api/files/versions/delete', { schema: removeVersion, config: purging }, async (request) => {
    const { path, id } = request.body
    await ofUser(request).deleteVersion(path, id)
    return { success: true }
  })
}

function itemOf({ deleted, maker, ...item }: TrashItem) {
  return { ...item, deleted: deleted.toISOString(), ...madeBy(maker) }
}

function versionOf({ modified, replaced, maker, ...version }: FileVersion) {
  return {
    ...version,
    modified: modified.toISOString(),
    replaced: replaced.toISOString(),
    ...madeBy(maker),
  }
}

function madeBy(maker: ChangeMaker | undefined) {
  return maker === undefined ? {} : { maker }
}
