import {
  changeOrigin,
  clientSignal,
  type FilesService,
  type FileWriteOptions,
  NodekeepError,
  type RoutesApp,
  undoHeader,
  userOf,
} from '@nodekeep/plugin-sdk'
import { entityTag, timeOfSeconds, writeConditions } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fileTooLarge } from '../operations/writing.ts'
import { fileBytes, formOverhead, pathQuery, transferredPath, uploadForm, uploadHeaders } from './schemas.ts'
import type { Spool } from './spool.ts'

export interface UploadRouteServices {
  readonly files: FilesService
  readonly spool: Spool
  /** Bytes. */
  readonly maxFileSize: number
}

/** Registers `POST /write` and `PUT /write`. */
export function uploadRoutes(app: RoutesApp, { files, spool, maxFileSize }: UploadRouteServices): void {
  const config = { scope: 'files:write', body: 'stream' } as const
  const response = { 200: transferredPath }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('multipart/form-data', (_request, _body, done) => done(null))
  app.post(
    '/write',
    {
      schema: {
        operationId: 'uploadFile',
        summary: 'Store a file, sent as the parts "path" and "file" of a form',
        headers: uploadHeaders,
        requestBody: { content: { 'multipart/form-data': { schema: uploadForm } } },
        response,
      },
      config,
      onRequest: [
        refuseNavigation,
        refuseOtherThanForms,
        refuseEncoded,
        refuseLarger(maxFileSize + formOverhead, maxFileSize),
      ],
    },
    async (request, reply) => {
      // It loads the parser of forms, which not every node needs.
      const { receiveForm } = await import('./upload-form.ts')
      const form = await receiveForm(request.raw, spool, maxFileSize)
      try {
        return await store(files, form.path, form.content, request, reply)
      } finally {
        await form.close()
      }
    },
  )

  app.register(async (raw: RoutesApp) => {
    raw.addContentTypeParser('*', (_request, _body, done) => done(null))
    raw.put(
      '/write',
      {
        schema: {
          operationId: 'writeFile',
          summary: 'Store a file, sent as the body',
          headers: uploadHeaders,
          querystring: pathQuery,
          requestBody: { content: { 'application/octet-stream': { schema: fileBytes } } },
          response,
        },
        config,
        onRequest: [refuseEncoded, refuseParts, refuseLarger(maxFileSize, maxFileSize), takeAnyType],
      },
      async (request, reply) => {
        const size = announcedSize(request)
        // Leaving the loop must not end the connection, because an error is still to be sent on it.
        const content = request.raw.iterator({ destroyOnReturn: false })
        return store(files, request.query.path, content, request, reply, size === null ? {} : { size })
      },
    )
  })
}

async function store(
  files: FilesService,
  path: string,
  content: AsyncIterable<Uint8Array>,
  request: FastifyRequest,
  reply: FastifyReply,
  known: Pick<FileWriteOptions, 'size'> = {},
): Promise<{ success: boolean; path: string }> {
  const origin = changeOrigin(request)
  const view = files.for(userOf(request), origin)
  const modified = timeOf(request)
  const entry = await view.write(path, content, {
    ...(modified !== null && { modified }),
    ...(await writeConditions(view, path, request.headers)),
    ...known,
    freeChunks: true,
    signal: clientSignal(reply),
  })
  reply.header('etag', entityTag(entry))
  if (entry.isUndoable) reply.header(undoHeader, origin.group)
  if (modified !== null && isSameTime(entry.modified, modified)) reply.header(timeHeader, 'accepted')
  return { success: true, path: entry.path }
}

/**
 * The header for the time of a file, in seconds since 1970, as clients of ownCloud and Nextcloud send it. They expect the
 * answer "accepted" when the time was kept.
 */
const timeHeader = 'x-oc-mtime'

/**
 * The time that the request sets for the file; null if it sets none.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
function timeOf({ headers }: FastifyRequest): Date | null {
  const header = headers[timeHeader]
  if (header === undefined) return null
  const time = timeOfSeconds(String(header))
  if (time !== null) return time
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `"${timeHeader}" must be a number of seconds since 1970, such as 1700000000.`,
  )
}

/** Storages keep times in steps of at most 2 seconds. */
function isSameTime(stored: Date, sent: Date): boolean {
  return Math.abs(stored.getTime() - sent.getTime()) < 2000
}

/**
 * Refuses a form that a browser sends without a script, told by `Sec-Fetch-Mode` of Fetch Metadata. A page of the node that shows a
 * form of a stranger would otherwise store files as the person who presses its button.
 */
async function refuseNavigation({ headers }: FastifyRequest): Promise<void> {
  if (headers['sec-fetch-mode'] === 'navigate')
    throw new NodekeepError('FORBIDDEN', 'A page stores files with a script, not by sending a form itself.')
}

/** Fastify's own answer to another type does not name the supported one. An empty body counts as a form without parts. */
async function refuseOtherThanForms(request: FastifyRequest): Promise<void> {
  const type = request.headers['content-type']
  if (type === undefined ? announcedSize(request) === 0 : /^\s*multipart\/form-data\s*(;|$)/i.test(type))
    return
  throw new NodekeepError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Send a form, as multipart/form-data, with the parts "path" and "file"; or the bytes alone to PUT /write?path=…',
  )
}

/** Refuses a body that is too large before any of it is read. */
function refuseLarger(most: number, limit: number) {
  return async (request: FastifyRequest): Promise<void> => {
    if ((announcedSize(request) ?? 0) > most) throw fileTooLarge(limit)
  }
}

/** Bytes of the body; `null` when the request does not say. */
function announcedSize({ headers }: FastifyRequest): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  return Number(headers['content-length'] ?? 0)
}

/**
 * Compressed bytes would be stored as the content of the file. Node decodes only the transfer coding "chunked" (RFC 9112,
 * section 6.1).
 */
async function refuseEncoded({ headers }: FastifyRequest): Promise<void> {
  const transfer = headers['transfer-encoding']
  if (transfer !== undefined && !/^\s*chunked\s*$/i.test(transfer)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'Send the file as it is. The only supported transfer coding is "chunked".',
    )
  }
  if (!/^\s*(identity)?\s*$/i.test(headers['content-encoding'] ?? '')) {
    throw new NodekeepError('UNSUPPORTED_MEDIA_TYPE', 'Send the file as it is, without "content-encoding".')
  }
}

/** A part of a file would be stored as the whole file (RFC 9110, section 14.4). */
async function refuseParts({ headers }: FastifyRequest): Promise<void> {
  if (headers['content-range'] === undefined) return
  throw new NodekeepError('VALIDATION_ERROR', 'A file is stored whole. Send it without "content-range".')
}

/** The type of a raw body does not matter, and need not be valid. Fastify would demand a valid one. */
async function takeAnyType({ raw }: FastifyRequest): Promise<void> {
  raw.headers['content-type'] = 'application/octet-stream'
}
