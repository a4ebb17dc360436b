import { createHash } from 'node:crypto'
import { join } from 'node:path'
import {
  clientSignal,
  FairSlots,
  isNodekeepError,
  nameOf,
  type PreviewService,
  type RoutesApp,
  Type,
} from '@nodekeep/plugin-sdk'
import { sendOwnFile } from '@nodekeep/plugin-sdk/send-own-file'
import { contentHeaders, namesTag, refuseAsCode } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Drops } from '../drops/drops.ts'
import { nothingThere } from '../guests/not-there.ts'
import type { Places } from '../guests/places.ts'
import type { RunningAnswers } from '../guests/running-answers.ts'
import type { SharedFiles } from '../guests/shared-files.ts'
import { isNamedAsText, mostShownText, textOf } from '../guests/shown-text.ts'
import { networkOf } from '../network-of.ts'
import { dropForm } from '../pages/drop-form.ts'
import { folderPage, type ListedEntry } from '../pages/folder-page.ts'
import { html } from '../pages/html.ts'
import { documentOf, guestHeaders } from '../pages/page.ts'
import { shownName, untilText } from '../pages/texts.ts'
import { viewPage } from '../pages/view-page.ts'
import { isReadable, takesDrops } from '../share.ts'
import type { UseTable } from '../tables/use-table.ts'
import type { Guest, Guests } from './guests.ts'
import { sendFile } from './send-file.ts'
import { sendZip } from './send-zip.ts'

/** Entries of a folder that a page shows. */
const pageSize = 500

/** Entries of a folder among which the neighbors of a file are looked for. */
const mostNeighbors = 500

/** Previews that guests of a link wait for at a time. A maker has more, and those of guests count among them. */
const previewsOfLink = 8

/** Requests of one address to one kind of route within a minute, and those for small pictures: the guests of a party have one address. */
const requestsPerMinute = 1200
const previewsPerMinute = 12_000

/** Password attempts of one address within a minute, at all links. */
const attemptsPerMinute = 20

const form = 'application/x-www-form-urlencoded'
/** The content of an answer that is a page. */
export const page = { 'text/html': { schema: { type: 'string' } } }
const bytes = { '*/*': { schema: { type: 'string', format: 'binary' } } }

/** The access to every route for guests. */
export const forGuests = {
  access: 'public',
  publicReason:
    'Guests have the secret of a link in place of a session. Requests are limited for each address and link.',
  rateLimit: { max: requestsPerMinute, timeWindow: 60_000 },
} as const

/** Services of the routes for guests. */
interface GuestRoutesServices {
  readonly guests: Guests
  readonly places: Places
  readonly files: SharedFiles
  readonly drops: Drops
  readonly uses: UseTable
  readonly running: RunningAnswers
  /** Undefined where the node makes none. */
  readonly previews: PreviewService | undefined
  /** The folder with the stylesheet and the script of the pages. */
  readonly bundle: string
}

const ofLink = Type.Object({ token: Type.String() })
const below = Type.Optional(
  Type.String({
    default: '',
    description: 'The path below the shared folder, such as "/a.jpg"; empty for itself.',
  }),
)

/** Registers what guests read below `/s`. Everything works without a script. */
export function guestRoutes(app: RoutesApp, services: GuestRoutesServices): void {
  const { guests, places, files, uses, running, previews, bundle } = services
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(guestHeaders)
  })
  const previewSlots = new FairSlots({ mostPerKey: previewsOfLink })
  const begin = ({ share, address }: Guest, request: FastifyRequest, reply: FastifyReply) => {
    running.begin(reply, { share: share.id, kind: 'download', address })
    return (bytes: number, isContinued = false) => {
      if (bytes > 0 && request.method !== 'HEAD')
        uses.record(share.id, { kind: 'download', network: networkOf(request.ip), bytes, isContinued })
    }
  }
  const showFile = (guest: Guest, path: string, request: FastifyRequest, reply: FastifyReply) =>
    pageOfFile(services, guest, path, clientSignal(reply), () => begin(guest, request, reply))

  for (const [file, type] of [
    ['shares.css', 'text/css; charset=utf-8'],
    ['drop.js', 'text/javascript; charset=utf-8'],
  ] as const) {
    const schema = { hide: true, response: { 200: { content: bytes } } }
    app.get(`/-/${file}`, { config: forGuests, schema }, (request, reply) =>
      sendOwnFile(request, reply, join(bundle, file), { type, cacheControl: 'no-cache' }),
    )
  }

  app.get(
    '/:token',
    {
      config: forGuests,
      schema: {
        operationId: 'openLink',
        summary: 'Show what a link gives to a guest',
        params: ofLink,
        querystring: Type.Object({
          path: below,
          after: Type.Optional(Type.String({ description: 'The name that the page begins after.' })),
          view: Type.Optional(Type.String({ description: '"list" or "grid".' })),
        }),
        response: { 200: { description: 'The page.', content: page } },
      },
    },
    guests.only('any', async (guest, request, reply) => {
      const { path = '', after, view } = request.query as { path?: string; after?: string; view?: string }
      if (path === '' && after === undefined)
        uses.record(guest.share.id, { kind: 'visit', network: networkOf(request.ip), bytes: 0 })
      reply.type('text/html; charset=utf-8')
      if (!isReadable(guest.share)) {
        if (path !== '') throw nothingThere()
        return reply.send(await dropPage(services, guest))
      }
      const found = await folderIn(services, guest, path, after)
      if (found === null) return reply.send(await showFile(guest, path, request, reply))
      const { name, entries, next } = found
      const isPicture = (name: string) => previews?.isPicture(name) === true
      const ofPictures = entries.filter(({ name }) => isPicture(name)).length
      const isGrid = view === undefined ? ofPictures * 2 > entries.length : view === 'grid'
      const drop = path === '' && takesDrops(guest.share) ? formFor(services, guest) : null
      const { token } = guest
      return reply.send(
        folderPage({
          token,
          name,
          below: path,
          entries,
          expires: guest.share.expires,
          next,
          isGrid,
          isPicture,
          drop,
        }),
      )
    }),
  )

  const ofFile = Type.Object({ path: below, download: Type.Optional(Type.String()) })
  app.get(
    '/:token/view',
    {
      config: forGuests,
      schema: {
        operationId: 'viewLinkedFile',
        summary: 'Show a file of a link on a page',
        params: ofLink,
        querystring: ofFile,
        response: { 200: { description: 'The page.', content: page } },
      },
    },
    guests.only('read', async (guest, request, reply) => {
      const { path = '' } = request.query as { path?: string }
      return reply.type('text/html; charset=utf-8').send(await showFile(guest, path, request, reply))
    }),
  )

  const readFile = guests.only('read', async (guest, request, reply) => {
    const { path = '', download } = request.query as { path?: string; download?: string }
    const onEnd = begin(guest, request, reply)
    const file = await files.look(guest.share, path, clientSignal(reply))
    return sendFile(request, reply, { file, isSaved: download !== undefined, onEnd })
  })
  const file = { config: { ...forGuests, answersLate: true }, exposeHeadRoute: false } as const
  app.head('/:token/file', { ...file, schema: { params: ofLink, querystring: ofFile } }, readFile)
  app.get(
    '/:token/file',
    {
      ...file,
      schema: {
        operationId: 'readLinkedFile',
        summary: 'Read a file of a link',
        params: ofLink,
        querystring: ofFile,
        response: {
          200: { description: 'The file, without places and camera data of a picture.', content: bytes },
          206: { description: 'A range of it.', content: bytes },
        },
      },
    },
    readFile,
  )

  app.get(
    '/:token/preview',
    {
      config: {
        ...forGuests,
        rateLimit: { max: previewsPerMinute, timeWindow: 60_000 },
        answersLate: true,
      },
      schema: {
        operationId: 'previewLinkedFile',
        summary: 'Get a small picture of a file of a link',
        params: ofLink,
        querystring: Type.Object({
          path: below,
          size: Type.Optional(
            Type.Union([Type.Literal('small'), Type.Literal('large')], { default: 'small' }),
          ),
        }),
        response: { 200: { description: 'The picture.', content: { 'image/webp': bytes['*/*'] } } },
      },
    },
    guests.only('read', async ({ share }, request, reply) => {
      refuseAsCode(request)
      if (previews === undefined) throw nothingThere()
      const { path = '', size = 'small' } = request.query as { path?: string; size?: 'small' | 'large' }
      const signal = clientSignal(reply)
      const user = { uuid: share.userUuid }
      const made = await previewSlots.run(share.id, async () => {
        signal.throwIfAborted()
        return places.at(share, path, (place) => previews.get({ user, path: place.path, size, signal }))
      })
      const etag = `"${createHash('sha256').update(made).digest('base64url')}"`
      const { 'accept-ranges': _ranges, ...headers } = contentHeaders('preview.webp', 'image/webp')
      reply.headers({ ...headers, etag, 'cache-control': 'private, no-cache' })
      if (namesTag(request.headers['if-none-match'] ?? '', etag)) return reply.code(304).send()
      return reply.send(made)
    }),
  )

  app.get(
    '/:token/zip',
    {
      config: { ...forGuests, answersLate: true },
      exposeHeadRoute: false,
      schema: {
        operationId: 'downloadLinkedFolder',
        summary: 'Download a folder of a link as a ZIP archive',
        params: ofLink,
        querystring: Type.Object({ path: below }),
        response: { 200: { description: 'The archive.', content: { 'application/zip': bytes['*/*'] } } },
      },
    },
    guests.only('read', async (guest, request, reply) => {
      const { path = '' } = request.query as { path?: string }
      const onEnd = begin(guest, request, reply)
      return sendZip({ places, files }, guest.share, path, reply, onEnd)
    }),
  )

  // Nested, so that only this route takes such forms.
  app.register(async (posted: RoutesApp) => {
    posted.addContentTypeParser<string>(form, { parseAs: 'string' }, (_request, body, done) => {
      done(null, { password: new URLSearchParams(body).get('password') ?? '' })
    })
    posted.post(
      '/:token/password',
      {
        bodyLimit: 16 * 1024,
        config: { ...forGuests, rateLimit: { max: attemptsPerMinute, timeWindow: 60_000 } },
        schema: {
          operationId: 'enterLink',
          summary: 'Send the password of a link',
          params: ofLink,
          body: Type.Object({ password: Type.String({ maxLength: 1000 }) }),
          response: { 200: { description: 'The page of the link, after a redirection.', content: page } },
        },
      },
      (request, reply) => guests.enter(request, reply, request.body.password),
    )
  })
}

/** The entries of a folder; null if a file is at the path. */
async function folderIn(
  { places }: Pick<GuestRoutesServices, 'places'>,
  { share }: Guest,
  path: string,
  after: string | undefined,
): Promise<{
  readonly name: string
  readonly entries: readonly ListedEntry[]
  readonly next: string | null
} | null> {
  return places.at(share, path, async ({ files, root, path: full }) => {
    if ((await files.stat(full)).type === 'file') return null
    const entries: ListedEntry[] = []
    let next: string | null = null
    for await (const { name, type, size, modified } of files.list(
      full,
      after === undefined ? {} : { after },
    )) {
      if (entries.length === pageSize) {
        next = entries.at(-1)?.name ?? null
        break
      }
      entries.push({ name, type, size, modified })
    }
    const isFolder = ({ type }: ListedEntry) => Number(type === 'directory')
    return { name: nameOf(root), entries: entries.sort((a, b) => isFolder(b) - isFolder(a)), next }
  })
}

/** @param begin begins a download, and returns a function that records its bytes */
async function pageOfFile(
  { places, files, previews }: Pick<GuestRoutesServices, 'places' | 'files' | 'previews'>,
  { share, token }: Guest,
  path: string,
  signal: AbortSignal,
  begin: () => (bytes: number) => void,
): Promise<string> {
  const { entry, former, next } = await places.at(share, path, async ({ files, path: full }) => {
    const entry = await files.stat(full)
    if (entry.type !== 'file') throw nothingThere()
    const names: string[] = []
    if (path !== '') {
      let listed = 0
      for await (const { name, type } of files.list(full.slice(0, full.lastIndexOf('/')))) {
        if (type === 'file') names.push(name)
        listed += 1
        if (listed === mostNeighbors) break
      }
    }
    const at = names.indexOf(entry.name)
    return { entry, former: at > 0 ? names[at - 1] : null, next: at < 0 ? null : names[at + 1] }
  })
  const { name, size, modified } = entry
  let text: string | null = null
  if (size <= mostShownText && isNamedAsText(name)) {
    // The guest reads the file, and its text is in memory: such a page is a download.
    const onEnd = begin()
    text = await files.look(share, path, signal).then(textOf).catch(nullIfNotShown)
    if (text !== null) onEnd(Buffer.byteLength(text))
  }
  const beside = { former: former ?? null, next: next ?? null }
  return viewPage({
    token,
    name,
    below: path,
    size,
    modified,
    expires: share.expires,
    text,
    hasPreview: previews?.isPicture(name) === true,
    ...beside,
  })
}

/** A file that only looks like a text, or that changes now, has a page without its text. */
function nullIfNotShown(error: unknown): null {
  if (isNodekeepError(error) && (error.code === 'UNPROCESSABLE' || error.code === 'CONFLICT')) return null
  throw error
}

/** The page of a link that is for uploads alone: nothing in the folder is shown. */
async function dropPage(services: GuestRoutesServices, guest: Guest): Promise<string> {
  const name = await services.places.at(guest.share, '', async ({ root }) => nameOf(root))
  const title = `Upload to "${shownName(name)}"`
  return documentOf({
    title,
    content: html`<h1>${title}</h1>${formFor(services, guest)}<p class="note">${untilText(guest.share.expires)}</p>`,
    hasScript: true,
  })
}

function formFor({ drops }: Pick<GuestRoutesServices, 'drops'>, { share, token }: Guest) {
  const { files: filesLeft, bytes: bytesLeft } = drops.left(share.id)
  const { maxFileSize } = drops
  return dropForm({
    token,
    askSender: share.askSender,
    isShown: isReadable(share),
    filesLeft,
    bytesLeft,
    maxFileSize,
  })
}

/** Writes an error for a guest as a page. */
export function errorPage({ status, message }: { readonly status: number; readonly message: string }) {
  const title = status === 404 ? 'Not found' : status === 429 ? 'Too many requests' : 'That did not work'
  const body = documentOf({ title, content: html`<h1>${title}</h1><p>${message}</p>` })
  return { contentType: 'text/html; charset=utf-8', body }
}
