import { clientSignal, invalid, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { Follower } from './indexing/follower.ts'
import { kinds } from './kinds.ts'
import type { Search } from './querying/search.ts'
import type { Status } from './status.ts'

const reading = { scope: 'files:read' }

const waiting = Type.Integer({ description: 'Files that cannot be found by their words yet.' })

const isComplete = Type.Boolean({
  description:
    'Whether all files can be found, but for those that failed: the search follows changes in the background.',
})

const query = Type.Object(
  {
    q: Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Words that are all in the file or in its name. The last one may be the beginning of a word. "Words in quotation marks" follow each other.',
    }),
    in: Type.Optional(
      Type.String({ maxLength: 4096, pattern: '^/', description: 'Only what is below this folder.' }),
    ),
    type: Type.Optional(
      Type.Union(
        kinds.map((kind) => Type.Literal(kind)),
        { description: 'By the extension of the name.' },
      ),
    ),
    after: Type.Optional(Type.String({ maxLength: 100, description: 'The `next` of the page before.' })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'The most entries of the page, 20 by default.' }),
    ),
  },
  { additionalProperties: false },
)

const entry = Type.Object({
  path: Type.String(),
  name: Type.String(),
  type: Type.Union([Type.Literal('file'), Type.Literal('folder')]),
  size: Type.Number({ description: 'Bytes; for a folder, those of all files below it.' }),
  modified: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Null for a folder, and where it is not known.',
  }),
  match: Type.Union([Type.Literal('name'), Type.Literal('content')]),
  snippet: Type.Union(
    [
      Type.Array(Type.Object({ text: Type.String(), isMatch: Type.Boolean() }), {
        description: 'The parts of the text around the words, in their order.',
      }),
      Type.Null(),
    ],
    { description: 'Of a match of the content, if it could be made in time.' },
  ),
})

interface SearchRouteServices {
  readonly search: Search
  readonly status: Status
  readonly follower: Pick<Follower, 'look'>
}

/** Registers `GET /api/search` and `GET /api/search/status`. */
export function searchRoutes(app: RoutesApp, { search, status, follower }: SearchRouteServices): void {
  const find = {
    operationId: 'searchFiles',
    summary: 'Find files and folders by their names, and files by their words',
    description:
      'Only the own files of the user are found. Matches of names come first, then those of contents, the best first. Case and accents do not matter. With `in`, a page may have fewer entries than `limit` although more follow: go on until `next` is null.',
    querystring: query,
    response: {
      200: Type.Object({
        entries: Type.Array(entry),
        next: Type.Union([Type.String(), Type.Null()], {
          description: 'The `after` of the next page; null after the last one.',
        }),
        isComplete,
        waiting,
      }),
    },
  }
  app.get('/api/search', { schema: find, config: reading }, async (request, reply) => {
    const user = userOf(request)
    await follower.look(user.uuid)
    const { q, in: folder, type, after, limit = 20 } = request.query
    const within = folder === undefined ? null : folderPath(folder)
    const wanted = { q, within, kind: type ?? null, after: after ?? null, limit }
    const { matches, next } = await search.find(user, wanted, clientSignal(reply))
    const entries = matches.map(({ entry: { path, name, type, size, modified }, match, snippet }) => ({
      path,
      name,
      type: type === 'directory' ? ('folder' as const) : type,
      size,
      modified: modified?.toISOString() ?? null,
      match,
      snippet: snippet?.map(({ text, isMatch }) => ({ text, isMatch })) ?? null,
    }))
    return { entries, next, ...(await status.progress(user)) }
  })

  const tell = {
    operationId: 'getSearchStatus',
    summary: 'Tell how many files can be found by their words',
    description: 'To the owner, of the files of all users; to others, of their own.',
    response: {
      200: Type.Object({
        waiting,
        indexed: Type.Integer({ description: 'Files that can be found by their words.' }),
        failed: Type.Record(Type.String(), Type.Integer(), {
          description:
            'Files that cannot, by the reason: `too-large`, `refused` (damaged or encrypted), `time`, `memory`, `ended`, `unreadable`.',
        }),
        bytes: Type.Integer({ description: 'Bytes that the index takes.' }),
        isComplete,
      }),
    },
  }
  app.get('/api/search/status', { schema: tell, config: reading }, async (request) => {
    const user = userOf(request)
    await follower.look(user.uuid)
    const { failed, ...counts } = await (user.owner ? status.ofAll() : status.ofUser(user))
    return { ...counts, failed: failed as Record<string, number> }
  })
}

/** The path of a folder without a slash at its end. */
function folderPath(text: string): string {
  const names = text
    .normalize('NFC')
    .split('/')
    .filter((name) => name !== '')
  if (names.some((name) => name === '.' || name === '..'))
    throw invalid('"in" must be a path without "." and "..".')
  return `/${names.join('/')}`
}
