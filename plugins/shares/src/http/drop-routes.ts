import { isUtf8 } from 'node:buffer'
import { invalid, isNodekeepError, NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { tooManyBytes } from '../drops/allowances.ts'
import { type Drops, keepMs } from '../drops/drops.ts'
import type { RunningAnswers } from '../guests/running-answers.ts'
import { html } from '../pages/html.ts'
import { documentOf, guestHeaders } from '../pages/page.ts'
import { shownName } from '../pages/texts.ts'
import { forGuests, page } from './guest-routes.ts'
import type { Guest, Guests } from './guests.ts'

interface DropRoutesServices {
  readonly guests: Guests
  readonly drops: Drops
  readonly running: RunningAnswers
}

const ofLink = Type.Object({ token: Type.String() })
const ofUpload = Type.Object({ token: Type.String(), id: Type.String() })
const version = '1.0.0'
const hidden = { hide: true } as const

/** Registers the upload of a form, for browsers without a script. */
export function dropFormRoute(app: RoutesApp, { guests, drops, running }: DropRoutesServices): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('multipart/form-data', (_request, _body, done) => done(null))
  app.post(
    '/:token/drop',
    {
      config: { ...forGuests, body: 'stream', answersLate: true },
      schema: {
        operationId: 'dropFiles',
        summary: 'Upload files by a link, sent as parts of a form',
        params: ofLink,
        requestBody: { content: { 'multipart/form-data': { schema: { type: 'object' } } } },
        response: { 200: { description: 'The page.', content: page } },
      },
    },
    guests.only('drop', async ({ share, token, address }, request, reply) => {
      refuseLargerThan(drops.left(share.id).bytes, request)
      running.begin(reply, { share: share.id, kind: 'upload', address })
      // It loads the parser of forms, which not every node needs.
      const { readDropForm } = await import('./drop-form-body.ts')
      const stored: string[] = []
      let fault: string | null = null
      try {
        await readDropForm(request.raw, async ({ name, sender, content }) => {
          await drops.store(share, request.ip, { name, sender: share.askSender ? sender : null }, content)
          stored.push(name)
        })
        if (stored.length === 0) fault = 'Choose a file first.'
      } catch (error) {
        if (!isNodekeepError(error) || stored.length === 0) throw error
        fault = `The others did not arrive. ${error.message}`
      }
      const title = stored.length === 1 ? 'The file has arrived' : `${stored.length} files have arrived`
      // The name in the folder may be another one. Guests do not learn which names are taken.
      const content = html`<h1>${title}</h1>
<ul class="items">${stored.map((name) => html`<li><bdi>${shownName(name)}</bdi></li>`)}</ul>
${fault === null ? null : html`<p class="fault" role="alert">${fault}</p>`}
<p><a class="button" href="/s/${token}">Back</a></p>`
      return reply.type('text/html; charset=utf-8').send(documentOf({ title, content }))
    }),
  )
}

/** Bytes of a form beside those of its files: their names, and the lines between them. */
const formOverhead = 256 * 1024

/**
 * Refuses a form that guests may not upload at its begin: one that arrives would make others give way, and then be refused itself.
 *
 * @throws NodekeepError VALIDATION_ERROR if it does not tell its length, as every browser does; INSUFFICIENT_STORAGE
 */
function refuseLargerThan(most: number, { headers }: FastifyRequest): void {
  const length = headers['content-length']
  if (length === undefined) throw invalid('Send the form with its length ("content-length").')
  if (Number(length) > most + formOverhead) throw tooManyBytes(most)
}

/**
 * Registers uploads that go on after they broke off: the core of tus 1.0 and its extension `creation`
 * (https://tus.io/protocols/resumable-upload). Guests upload nothing else, so the library of the plugin `uploads` would be most of it.
 */
export function resumableRoutes(app: RoutesApp, { guests, drops, running }: DropRoutesServices): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ ...guestHeaders, 'tus-resumable': version })
  })
  const config = { ...forGuests, body: 'stream', answersLate: true } as const
  const only = (
    handler: (guest: Guest, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ) =>
    guests.only('drop', (guest, request, reply) => {
      if (request.headers['tus-resumable'] !== version)
        throw new NodekeepError('PRECONDITION_FAILED', `Send the header "tus-resumable: ${version}".`, {
          headers: { 'tus-version': version },
        })
      return handler(guest, request, reply)
    })
  const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id

  app.post(
    '/:token/uploads',
    { config, schema: { ...hidden, params: ofLink } },
    only(async ({ share, token }, request, reply) => {
      const length = numberIn(request, 'upload-length')
      const { filename = '', sender = null } = metadataOf(request)
      const file = { name: filename, sender: share.askSender ? sender : null, length }
      const id = await drops.begin(share, request.ip, file)
      return reply
        .code(201)
        .headers({ location: `/s/${token}/uploads/${id}`, 'upload-expires': expiry() })
        .send()
    }),
  )
  app.head(
    '/:token/uploads/:id',
    { config, schema: { ...hidden, params: ofUpload } },
    only(async ({ share }, request, reply) => {
      const { offset, length } = await drops.progress(share, idOf(request))
      return reply.headers({ 'upload-offset': offset, 'upload-length': length }).send()
    }),
  )
  app.patch(
    '/:token/uploads/:id',
    { config, schema: { ...hidden, params: ofUpload } },
    only(async ({ share, address }, request, reply) => {
      if (request.headers['content-type'] !== 'application/offset+octet-stream')
        throw new NodekeepError('UNSUPPORTED_MEDIA_TYPE', 'Send "application/offset+octet-stream".')
      running.begin(reply, { share: share.id, kind: 'upload', address })
      // Leaving the loop must not end the connection, because an answer is still to be sent on it.
      const content = request.raw.iterator({ destroyOnReturn: false })
      const offset = await drops.receive(share, idOf(request), numberIn(request, 'upload-offset'), content)
      return reply.code(204).headers({ 'upload-offset': offset, 'upload-expires': expiry() }).send()
    }),
  )
}

/** When an upload ends that nobody goes on with from now on. */
function expiry(): string {
  return new Date(Date.now() + keepMs).toUTCString()
}

/** @throws NodekeepError VALIDATION_ERROR */
function numberIn({ headers }: FastifyRequest, name: string): number {
  const text = String(headers[name] ?? '')
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw invalid(`Send a number of bytes as "${name}".`)
}

/** The texts of `upload-metadata` (tus 1.0, "Upload-Metadata"): names with values in base64. */
function metadataOf({ headers }: FastifyRequest): Readonly<Record<string, string>> {
  const pairs = String(headers['upload-metadata'] ?? '').split(',')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', value = ''] = pair.trim().split(' ')
      const bytes = Buffer.from(value, 'base64')
      if (!isUtf8(bytes)) throw invalid('"upload-metadata" is not valid UTF-8.')
      return [name, bytes.toString()]
    }),
  )
}
