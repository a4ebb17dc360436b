import {
  type ChangeLog,
  type ChangePosition,
  clientSignal,
  EventStream,
  type FileChange,
  isNodekeepError,
  type RoutesApp,
  type Static,
  untilAborted,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Journal } from '../journal/journal.ts'
import { root, userPath } from '../paths/user-path.ts'
import { cursorOf, positionOf } from './change-cursor.ts'
import type { ChangeFollower, ChangeFollowers } from './change-followers.ts'
import { changesPage, changesQuery, mostChanges, newestChanges, newestChangesQuery } from './schemas.ts'

/** Milliseconds between two heartbeats of a stream. */
const heartbeatMs = 15_000

/**
 * Milliseconds after which a stream reads the log without an announcement: a new epoch and an unreachable mount are
 * announced by nothing.
 */
const recheckMs = 15_000

export interface ChangesRouteServices {
  readonly journal: Pick<Journal, 'newest'>
  readonly changes: ChangeLog
  readonly followers: ChangeFollowers
}

interface Page {
  readonly body: Static<typeof changesPage>
  readonly position: ChangePosition
  /** Whether there is something new to send. */
  readonly isNew: boolean
}

/** Registers `GET /api/files/changes` and `GET /api/files/changes/newest`. */
export function changesRoutes(app: RoutesApp, { journal, changes, followers }: ChangesRouteServices): void {
  const schema = {
    operationId: 'listChanges',
    summary: 'List or follow the changes of your files',
    description:
      'Without a cursor, begins at the newest change. With "accept: text/event-stream", the answer is a stream: each event ' +
      'has the JSON of an answer as its data and the cursor as its id.',
    querystring: changesQuery,
    response: {
      200: {
        description: 'The changes after the cursor, oldest first.',
        content: {
          'application/json': { schema: changesPage },
          'text/event-stream': { schema: { type: 'string' } },
        },
      },
    },
  }
  const config = { scope: 'files:read', answersLate: true }
  app.get('/api/files/changes', { schema, config, exposeHeadRoute: false }, async (request, reply) => {
    const { after, wait = 0, limit = mostChanges } = request.query
    reply.header('vary', 'accept')
    const { uuid } = userOf(request)
    const isStream = request.headers.accept?.includes('text/event-stream') === true
    const resumed = isStream ? [request.headers['last-event-id']].flat()[0] : undefined
    const cursor = resumed ?? after
    const left = clientSignal(reply)
    const position = cursor === undefined ? null : positionOf(cursor)
    // The call also goes on following the user, which needs no waiting for a client that goes on.
    const following = changes.follow(uuid)
    if (position === null) await untilAborted(following, left)
    const start = position ?? (await changes.head(uuid))
    const feed = { uuid, start, limit, left }
    if (!isStream && wait === 0) return (await pageAfter(start, feed)).body
    if (!isStream)
      return followers.follow(uuid, left, (one) => awaited(one, { ...feed, waitMs: wait * 1000 }))
    return followers.follow(uuid, left, (one) => streamed(one, { ...feed, request, reply }))
  })

  const newest = {
    operationId: 'listNewestChanges',
    summary: 'List the newest changes of your files',
    querystring: newestChangesQuery,
    response: { 200: newestChanges },
  }
  app.get(
    '/api/files/changes/newest',
    { schema: newest, config: { scope: 'files:read' } },
    async (request) => {
      const { path = root, limit = 20 } = request.query
      const rows = await journal.newest(userOf(request).uuid, userPath(path), limit)
      return { changes: rows.map(changeBody) }
    },
  )

  /** Waits for a page with changes. */
  async function awaited(
    follower: ChangeFollower,
    { waitMs, ...feed }: Feed & { readonly waitMs: number },
  ): Promise<Page['body']> {
    const end = performance.now() + waitMs
    for (;;) {
      const page = await pageAfter(feed.start, feed)
      const left = end - performance.now()
      if (page.isNew || left <= 0 || follower.signal.aborted) return page.body
      await follower.next(left)
    }
  }

  /** Sends pages until the client leaves or the request is ended. */
  async function streamed(
    follower: ChangeFollower,
    { request, reply, ...feed }: Feed & Exchange,
  ): Promise<FastifyReply> {
    const { signal } = follower
    const stream = new EventStream(reply, heartbeatMs)
    try {
      let position = feed.start
      let told: string | undefined | null = null
      while (!signal.aborted) {
        const page = await pageAfter(position, feed)
        const stalled = JSON.stringify(page.body.stalled)
        // The first event has the cursor, also when nothing is new.
        if (page.isNew || stalled !== told) {
          const event = page.body.reset === true ? { event: 'reset' } : {}
          const fields = { id: page.body.cursor, ...event }
          if (!stream.send(JSON.stringify(page.body), fields)) await stream.drained(signal)
        }
        told = stalled
        position = page.position
        if (!page.isNew) await follower.next(recheckMs)
      }
    } catch (error) {
      stream.endWithFailure(error, request, feed.left)
      return reply
    }
    stream.end()
    return reply
  }

  async function pageAfter(start: ChangePosition, { uuid, limit, left }: Feed): Promise<Page> {
    const rows = await changes.read(uuid, start, limit).catch(nullIfInvalid)
    if (rows === null) {
      // The client lists the files after this, so nothing may be missed from now on.
      await untilAborted(changes.follow(uuid), left)
      const position = await changes.head(uuid)
      return { body: { reset: true, cursor: cursorOf(position) }, position, isNew: true }
    }
    const { seq, id } = rows.at(-1) ?? start
    const position = { epoch: start.epoch, seq, id }
    const stalled = changes.stalled(uuid)
    const body = {
      changes: rows.map(changeBody),
      cursor: cursorOf(position),
      ...(stalled !== null && { stalled: { mount: stalled.mount, since: stalled.since.toISOString() } }),
    }
    return { body, position, isNew: rows.length > 0 }
  }
}

interface Feed {
  readonly uuid: string
  readonly start: ChangePosition
  readonly limit: number
  /** Aborts when the client leaves. */
  readonly left: AbortSignal
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Returns null if the changes after the position are deleted, or the position belongs to another history. */
function nullIfInvalid(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'CONFLICT') return null
  throw error
}

/** Numbers and ids are for the cursor alone. */
function changeBody({ seq, id, at, ...change }: FileChange) {
  return { ...change, at: at.toISOString() }
}
