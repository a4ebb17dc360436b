import {
  changeHeaders,
  changeOrigin,
  NodekeepError,
  type RoutesApp,
  Type,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { keepMs, newId } from './uploads.ts'
import { offsetOf, type UploadServices, UserUploads } from './user-uploads.ts'

const path = '/api/files/uploads'
const version = '1.0.0'
const hidden = { hide: true, headers: changeHeaders }

const uploadList = Type.Object({
  uploads: Type.Array(
    Type.Object({
      id: Type.String(),
      path: Type.String(),
      offset: Type.Integer({ description: 'Bytes that the node has.' }),
      length: Type.Union([Type.Integer(), Type.Null()], {
        description: 'Bytes of the file; null if the client has not told it.',
      }),
      used: Type.String({ format: 'date-time', description: 'When a client used it last.' }),
      expires: Type.String({ format: 'date-time' }),
    }),
  ),
})

/** Registers `/api/files/uploads`. */
export function uploadRoutes(app: RoutesApp, services: UploadServices): void {
  const { files, uploads, turns } = services

  app.get(
    path,
    {
      config: { scope: 'files:write' },
      schema: {
        operationId: 'listUploads',
        summary: 'List the unfinished uploads',
        response: { 200: uploadList },
      },
    },
    async (request) => ({
      uploads: uploads.unfinished(userOf(request).uuid).map((upload) => ({
        id: upload.id,
        path: upload.path,
        offset: offsetOf(upload),
        length: upload.length,
        used: upload.used.toISOString(),
        expires: new Date(upload.used.getTime() + keepMs).toISOString(),
      })),
    }),
  )

  app.register(async (raw: RoutesApp) => {
    raw.removeAllContentTypeParsers()
    raw.addContentTypeParser('*', (_request, _body, done) => done(null))
    const config = { scope: 'files:write', body: 'stream', answersLate: true } as const
    const options = { config, schema: hidden, onRequest: refuseOtherVersions }
    const answer = (request: FastifyRequest, reply: FastifyReply) => answerRequest(request, reply)
    raw.options(path, options, answer)
    raw.post(path, options, answer)
    raw.route({
      ...options,
      method: ['HEAD', 'PATCH', 'DELETE', 'POST'],
      url: `${path}/:id`,
      handler: answer,
    })
  })

  async function answerRequest(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const method = methodOf(request)
    const user = userOf(request)
    const id = (request.params as { id?: string }).id ?? newId()
    // The library is large, and not every node needs it.
    const { answerTus, storedHeaders } = await import('./tus-server.ts')
    return turns.run(user.uuid, id, async (turn) => {
      const origin = changeOrigin(request)
      const own = new UserUploads(services, {
        user,
        origin,
        headers: request.headers,
        // Leaving the loop must not end the connection, because an error is still to be sent on it.
        body: request.raw.iterator({ destroyOnReturn: false }),
        bodySize: announcedSize(request),
        signal: turn,
      })
      if (method === 'HEAD' || method === 'PATCH') own.use(id)
      const tus = {
        method,
        headers: request.headers,
        path,
        id,
        maxFileSize: files.maxFileSize,
        group: origin.group,
      }
      const response = await answerTus(own, tus).catch(async (error) => {
        // The client does not learn the address of an upload that failed at its begin.
        if (method === 'POST') await own.remove(id)
        throw error
      })
      for (const [name, value] of response.headers)
        if (!name.startsWith('access-control-') && !name.startsWith('content-')) reply.header(name, value)
      if (method === 'HEAD') {
        const upload = own.get(id)
        if (upload.revision !== null) reply.headers(storedHeaders(upload.path, upload.revision))
      }
      return reply.code(response.status).send()
    })
  }
}

/**
 * Clients that cannot send PATCH or DELETE name it in a header of a POST (tus 1.0, "X-HTTP-Method-Override").
 *
 * @throws NodekeepError METHOD_NOT_ALLOWED
 */
function methodOf({ method, headers, params }: FastifyRequest): string {
  if (method !== 'POST' || (params as { id?: string }).id === undefined) return method
  const override = String(headers['x-http-method-override'] ?? '').toUpperCase()
  if (['PATCH', 'DELETE', 'HEAD'].includes(override)) return override
  throw new NodekeepError('METHOD_NOT_ALLOWED', 'Go on with an upload with PATCH.', {
    headers: { allow: 'HEAD, PATCH, DELETE' },
  })
}

/** Bytes of the body; `null` when the request does not say. */
function announcedSize({ headers }: FastifyRequest): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  return Number(headers['content-length'] ?? 0)
}

/** Each request but OPTIONS names the version of the protocol (tus 1.0, "Tus-Resumable"). */
async function refuseOtherVersions({ method, headers }: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('tus-resumable', version)
  if (method === 'OPTIONS' || headers['tus-resumable'] === version) return
  throw new NodekeepError('PRECONDITION_FAILED', `Send the header "tus-resumable: ${version}".`, {
    headers: { 'tus-version': version },
  })
}
