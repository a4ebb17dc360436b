import { clientSignal, nameOf, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import { contentHeaders, namesTag, refuseAsCode } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply } from 'fastify'
import type { AskedPreviews } from '../asked-previews.ts'

/** Hexadecimal digits of the hash in an entity tag. */
const tagDigits = 32

const query = Type.Object(
  {
    path: Type.String({ description: 'Absolute path, such as "/photos/cat.jpg".' }),
    size: Type.Optional(
      Type.Union([Type.Literal('small'), Type.Literal('medium'), Type.Literal('large')], {
        default: 'medium',
        description: 'The longest side has at most 256, 768 or 1,600 pixels.',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Registers `GET` and `HEAD` of `/api/previews`. */
export function previewRoute(app: RoutesApp, previews: AskedPreviews): void {
  const schema = {
    operationId: 'getPreview',
    summary: 'Get a small picture of a file',
    description:
      'Of pictures (JPEG, PNG, WebP, GIF, AVIF), and of audio files with a cover picture. A preview that is not there yet is made now.',
    querystring: query,
    response: {
      200: {
        description: 'The picture.',
        headers: { etag: Type.String({ description: 'The entity tag of the content in this size.' }) },
        content: { 'image/webp': { schema: { type: 'string', format: 'binary' } } },
      },
    },
  }
  const config = { scope: 'files:read', answersLate: true } as const
  app.get('/api/previews', { schema, config }, async (request, reply) => {
    refuseAsCode(request)
    const { path, size = 'medium' } = request.query
    const signal = clientSignal(reply)
    const file = await previews.versionOf(userOf(request), path, signal)
    const version = {
      etag: `"${file.sha256.slice(0, tagDigits)}-${size}"`,
      'cache-control': 'private, no-cache',
    }
    const known = request.headers['if-none-match'] ?? ''
    if (namesTag(known, version.etag)) return notModified(reply, version)
    const content = await previews.get(file, size, signal)
    const { 'accept-ranges': _ranges, ...headers } = contentHeaders(`${nameOf(file.path)}.webp`, 'image/webp')
    return reply.headers({ ...version, ...headers }).send(content)
  })
}

function notModified(reply: FastifyReply, version: Readonly<Record<string, string>>): FastifyReply {
  return reply.code(304).headers(version).send()
}
