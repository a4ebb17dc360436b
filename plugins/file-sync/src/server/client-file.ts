import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NodeAddress, RoutesApp } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientAnswer } from '../protocol/bodies.ts'
import { oldestNode } from '../protocol/oldest-node.ts'

/** The folder of the package. Sources and compiled code are equally far from it. */
const packageFolder = join(import.meta.dirname, '../..')

/** The whole client in one file, which needs nothing but Node. */
const name = 'nodekeep-sync.cjs'
const path = `/api/sync/client/${name}`

/** Downloads of the file from one address within a minute. */
const downloadsPerMinute = 30

/** Registers `/api/sync/client`: the file that `npm run bundle` makes of the client, and its description. */
export function clientFileRoutes(app: RoutesApp, address: NodeAddress): void {
  app.get(
    '/api/sync/client',
    {
      config: { scope: 'files:read' },
      schema: {
        operationId: 'getSyncClient',
        summary: 'Describe the client of file sync that the node offers',
        response: { 200: clientAnswer },
      },
    },
    async () => {
      const { bytes, sha256 } = await clientFile()
      const { engines, version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'))
      return { path, name, version, size: bytes.length, sha256, node: oldestNode(engines) }
    },
  )
  app.get(
    path,
    {
      config: {
        access: 'public',
        publicReason:
          'A new device has no token yet. The file has no data of users. Requests are limited for each address.',
        rateLimit: { max: downloadsPerMinute, timeWindow: 60_000 },
      },
      schema: {
        operationId: 'downloadSyncClient',
        summary: 'Download the client of file sync, one file that needs nothing but Node',
        response: {
          200: { content: { 'text/javascript': { schema: { type: 'string', format: 'binary' } } } },
        },
      },
    },
    async (request, reply) => {
      // A program is taken from where a person would sign in, and from nowhere else.
      address.originOf(request)
      return send(request, reply)
    },
  )
}

async function send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { bytes, sha256 } = await clientFile()
  const etag = `"${sha256}"`
  reply.headers({
    'cache-control': 'no-cache',
    'content-disposition': `attachment; filename="${name}"`,
    'cross-origin-resource-policy': 'same-origin',
    etag,
    'x-content-type-options': 'nosniff',
  })
  if (headers['if-none-match']?.includes(etag)) return reply.code(304).send()
  return reply.type('text/javascript; charset=utf-8').send(bytes)
}

async function clientFile(): Promise<{ readonly bytes: Buffer; readonly sha256: string }> {
  const bytes = await readFile(join(packageFolder, 'bundle', name))
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}
