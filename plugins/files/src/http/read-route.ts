import { type FilesService, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import { type ReadableFile, sendFile } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyRequest } from 'fastify'
import type { KeptFilesService } from '../kept/kept-files.ts'
import type { AddedHeaders } from './added-headers.ts'
import { userFilesOf } from './request.ts'
import { fileBytes, pathQuery, versionQuery } from './schemas.ts'

interface ReadRouteServices {
  readonly files: FilesService
  readonly kept: KeptFilesService
  readonly headersOf: AddedHeaders
}

/** Registers `GET` and `HEAD` of `/read` and of `/api/files/versions/read`. */
export function readRoutes(app: RoutesApp, { files, kept, headersOf }: ReadRouteServices): void {
  const config = { scope: 'files:read' }
  const content = { '*/*': { schema: fileBytes } }
  const answers = {
    headers: Type.Object({
      range: Type.Optional(Type.String({ description: 'One range of bytes, such as "bytes=0-99".' })),
    }),
    response: {
      200: { description: 'The file. Its name decides about the media type.', content },
      206: {
        description: 'A range of the file.',
        headers: { 'content-range': Type.String({ description: 'Such as "bytes 0-99/1234".' }) },
        content,
      },
    },
  }

  const fileOf = (request: FastifyRequest<{ Querystring: { path: string } }>): ReadableFile => {
    const { path } = request.query
    const own = userFilesOf(files, request)
    return {
      stat: () => own.stat(path),
      read: (options) => own.read(path, options),
      headersOf: (file) => headersOf(request, file),
    }
  }
  app.head('/read', { config, schema: { querystring: pathQuery } }, (request, reply) =>
    sendFile(reply, request, fileOf(request)),
  )
  const ofFile = { operationId: 'readFile', summary: 'Read a file', querystring: pathQuery, ...answers }
  app.get('/read', { config, schema: ofFile, exposeHeadRoute: false }, (request, reply) =>
    sendFile(reply, request, fileOf(request)),
  )

  const versionOf = (
    request: FastifyRequest<{ Querystring: { path: string; id: string } }>,
  ): ReadableFile => {
    const { path, id } = request.query
    const own = kept.for(userOf(request))
    return {
      stat: () => own.statVersion(path, id),
      read: (options) => own.readVersion(path, id, options),
      headersOf: () => null,
    }
  }
  app.head('/api/files/versions/read', { config, schema: { querystring: versionQuery } }, (request, reply) =>
    sendFile(reply, request, versionOf(request)),
  )
  const ofVersion = {
    operationId: 'readVersion',
    summary: 'Read a former content of a file',
    querystring: versionQuery,
    ...answers,
  }
  app.get(
    '/api/files/versions/read',
    { config, schema: ofVersion, exposeHeadRoute: false },
    (request, reply) => sendFile(reply, request, versionOf(request)),
  )
}
