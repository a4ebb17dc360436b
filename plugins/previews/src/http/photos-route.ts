import {
  type FileIndex,
  type IndexedEntry,
  invalid,
  type RoutesApp,
  type Static,
  Type,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { PreviewStatus } from '../status.ts'
import type { ContentTable, DatedPhoto, PhotoPosition, PhotoRange } from '../tables/content-table.ts'
import type { EntryTable } from '../tables/entry-table.ts'
import { unlessFull } from '../tables/unless-full.ts'

/** Photos of a page, unless the request says otherwise. */
const usualPage = 100

const mostPhotos = 500

const dayMs = 24 * 60 * 60 * 1000

const query = Type.Object(
  {
    from: Type.Optional(
      Type.String({
        maxLength: 40,
        description: 'Photos from then on: "2026-05-01", or a date with a time.',
      }),
    ),
    to: Type.Optional(
      Type.String({
        maxLength: 40,
        description: 'Photos before then: a date with a time, or "2026-05-01", which includes the whole day.',
      }),
    ),
    after: Type.Optional(Type.String({ maxLength: 64, description: 'The `next` of the page before.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: mostPhotos, default: usualPage })),
  },
  { additionalProperties: false },
)

const photo = Type.Object({
  path: Type.String(),
  name: Type.String(),
  size: Type.Integer({ description: 'Bytes.' }),
  modified: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  taken: Type.Union([Type.String(), Type.Null()], {
    description: 'When it was taken, by the clock of the camera, such as "2026-05-01T12:00:00".',
  }),
  date: Type.String({ description: 'The photos are sorted by it: `taken`, otherwise `modified`.' }),
  width: Type.Integer({ description: 'Pixels, upright.' }),
  height: Type.Integer({ description: 'Pixels, upright.' }),
  place: Type.Union([Type.Object({ latitude: Type.Number(), longitude: Type.Number() }), Type.Null()], {
    description: 'Where it was taken, in degrees.',
  }),
  camera: Type.Union([Type.String(), Type.Null()]),
})

type Photo = Static<typeof photo>

const isComplete = Type.Boolean({ description: 'Whether the node has looked at all files of the user.' })

const monthList = Type.Object({
  months: Type.Array(
    Type.Object({
      month: Type.String({ description: 'Such as "2026-05".' }),
      photos: Type.Integer({ description: 'Those whose files are gone since a moment ago count, too.' }),
    }),
  ),
  isComplete,
})

interface PhotosRouteServices {
  readonly index: FileIndex
  readonly entries: EntryTable
  readonly contents: ContentTable
  readonly status: PreviewStatus
}

/** Registers `GET /api/previews/photos`, `GET /api/previews/photos/months` and `GET /api/previews/photo`. */
export function photosRoute(app: RoutesApp, services: PhotosRouteServices): void {
  const schema = {
    operationId: 'listPhotos',
    summary: 'List the pictures of all folders, the newest first',
    querystring: query,
    response: {
      200: Type.Object({
        photos: Type.Array(photo),
        next: Type.Union([Type.String(), Type.Null()], {
          description: 'For `after` of the next page; null after the last one.',
        }),
        isComplete,
      }),
    },
  }
  app.get('/api/previews/photos', { schema, config: { scope: 'files:read' } }, async (request) => {
    const { from, to, after, limit = usualPage } = request.query
    const { uuid } = userOf(request)
    const range = {
      from: from === undefined ? Number.MIN_SAFE_INTEGER : timeIn('from', from),
      until: to === undefined ? Number.MAX_SAFE_INTEGER : timeIn('to', to) + (isDay(to) ? dayMs : 0),
      after: after === undefined ? null : positionIn(after),
      limit,
    }
    // Otherwise, a photo could come between the page and the question.
    const isComplete = await services.status.isComplete(uuid)
    return { ...(await pageOf(services, uuid, range)), isComplete }
  })
  const monthsSchema = {
    operationId: 'listPhotoMonths',
    summary: 'List the months of the pictures of all folders, the newest first',
    response: { 200: monthList },
  }
  const config = { scope: 'files:read' } as const
  app.get('/api/previews/photos/months', { schema: monthsSchema, config }, async (request) => {
    const { uuid } = userOf(request)
    const isComplete = await services.status.isComplete(uuid)
    return { months: services.entries.months(uuid), isComplete }
  })
  const photoSchema = {
    operationId: 'getPhoto',
    summary: 'Tell when and where a picture was taken',
    querystring: Type.Object(
      { path: Type.String({ description: 'Absolute path, such as "/photos/cat.jpg".' }) },
      { additionalProperties: false },
    ),
    response: {
      200: Type.Object({
        photo: Type.Union([photo, Type.Null()], {
          description: 'Null for a file that is no picture, or that the node has not looked at yet.',
        }),
      }),
    },
  }
  app.get('/api/previews/photo', { schema: photoSchema, config }, async (request) => {
    const { uuid } = userOf(request)
    const entry = await services.index.for({ uuid }).at(request.query.path)
    const found = entry === null ? null : services.contents.photo(uuid, entry.id)
    return { photo: entry === null || found === null ? null : photoOf(found, entry) }
  })
}

/** A page of photos as they are now. Those whose files are gone are forgotten. */
async function pageOf(
  { index, entries, contents }: PhotosRouteServices,
  userUuid: string,
  { limit, ...range }: PhotoRange,
): Promise<{ readonly photos: Photo[]; readonly next: string | null }> {
  const ofUser = index.for({ uuid: userUuid })
  const photos: Photo[] = []
  for (let last = range.after; ; ) {
    const found = contents.photos(userUuid, { ...range, after: last, limit: limit - photos.length })
    for (const one of found) {
      const entry = await ofUser.entry(one.id)
      if (entry === null) unlessFull(() => entries.forget(userUuid, one.id))
      else photos.push(photoOf(one, entry))
    }
    last = found.at(-1) ?? null
    if (last === null) return { photos, next: null }
    if (photos.length === limit) return { photos, next: `${last.date}.${last.id}` }
  }
}

function photoOf(
  { date, width, height, taken, place, camera }: DatedPhoto,
  { path, name, size, modified }: IndexedEntry,
): Photo {
  return {
    path,
    name,
    size,
    modified: modified?.toISOString() ?? null,
    taken,
    date: taken ?? new Date(date).toISOString(),
    width,
    height,
    place,
    camera,
  }
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text)
}

/** Milliseconds since 1970. A time without a zone is one of a camera, which counts as if it were UTC. */
function timeIn(name: 'from' | 'to', text: string): number {
  const hasZone = isDay(text) || /(?:Z|[+-]\d\d:?\d\d)$/i.test(text)
  const [, day] = /^(\d{4}-\d\d-\d\d)(?:[Tt ]|$)/.exec(text) ?? []
  const time = Date.parse(hasZone ? text : `${text}Z`)
  if (day === undefined || Number.isNaN(time) || !isInCalendar(day))
    throw invalid(`"${name}" is no date. Write one such as 2026-05-01 or 2026-05-01T12:00:00Z.`)
  return time
}

/** Whether a day is there: `Date.parse` takes the 31st of February as a day in March. */
function isInCalendar(day: string): boolean {
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

/** @throws NodekeepError VALIDATION_ERROR for a text that is no `next` */
function positionIn(text: string): PhotoPosition {
  const [, date, id] = /^(-?\d{1,16})\.(\d{1,20})$/.exec(text) ?? []
  if (date !== undefined && id !== undefined) return { date: Number(date), id }
  throw invalid('"after" is none of this list. Begin without it.')
}
