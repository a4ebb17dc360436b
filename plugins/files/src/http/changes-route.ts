import {
  type ChangeLog,
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
import { type ChangePosition, cursorOf, positionOf } from './change-cursor.ts'
import type { ChangeFollower, ChangeFollowers } from './change-followers.ts'
import { changesPage, changesQuery, mostChanges } from './schemas.ts'

/** Milliseconds between two heartbeats of a stream. */
const heartbeatMs = 15_000

/**
 * Milliseconds after which a stream looks at the log without an announcement: a new epoch and an unreachable mount are
 * announced by nothing.
 */
const lookMs = 15_000

export interface ChangesRouteParts {
  readonly changes: ChangeLog
  readonly followers: ChangeFollowers
}

interface Page {
  readonly body: Static<typeof changesPage>
  readonly position: ChangePosition
  /** Whether there is something to tell. */
  readonly isNew: boolean
}

/** Registers `GET /api/files/changes`. */
export function changesRoute(app: RoutesApp, { changes, followers }: ChangesRouteParts): void {
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
    const following = changes.follow(uuid)
    // A client that begins, or begins anew, lists the files after this, so nothing may be missed from now on.
    if (position === null) await untilAborted(following, left)
    else if (position.epoch !== changes.epoch) await untilAborted(following, left)
    const start = position ?? (await headOf(uuid))
    if (!isStream && wait === 0) return (await pageAfter(uuid, start, limit)).body
    const feed = { uuid, start, limit }
    if (!isStream)
      return followers.follow(uuid, left, (one) => awaited(one, { ...feed, waitMs: wait * 1000 }))
    return followers.follow(uuid, left, (one) => streamed(one, { ...feed, request, reply, left }))
  })

  /** Waits for a page with changes. */
  async function awaited(
    follower: ChangeFollower,
    { uuid, start, limit, waitMs }: Feed & { readonly waitMs: number },
  ): Promise<Page['body']> {
    const end = performance.now() + waitMs
    for (;;) {
      const page = await pageAfter(uuid, start, limit)
      const left = end - performance.now()
      if (page.isNew || left <= 0 || follower.signal.aborted) return page.body
      await follower.next(left)
    }
  }

  /** Sends pages until the client leaves or the request is ended. */
  async function streamed(
    follower: ChangeFollower,
    { uuid, start, limit, request, reply, left }: Feed & Exchange,
  ): Promise<FastifyReply> {
    const { signal } = follower
    const stream = new EventStream(reply, heartbeatMs)
    try {
      let position = start
      let told: string | undefined | null = null
      while (!signal.aborted) {
        const page = await pageAfter(uuid, position, limit)
        const stalled = JSON.stringify(page.body.stalled)
        // The first event tells the cursor, also when nothing is new.
        if (page.isNew || stalled !== told) {
          const event = page.body.reset === true ? { event: 'reset' } : {}
          const fields = { id: page.body.cursor, ...event }
          if (!stream.send(JSON.stringify(page.body), fields)) await stream.drained(signal)
        }
        told = stalled
        position = page.position
        if (!page.isNew) await follower.next(lookMs)
      }
    } catch (error) {
      stream.endWithFailure(error, request, left)
      return reply
    }
    stream.end()
    return reply
  }

  async function headOf(uuid: string): Promise<ChangePosition> {
    const { epoch } = changes
    return { epoch, seq: await changes.head(uuid) }
  }

  async function pageAfter(uuid: string, start: ChangePosition, limit: number): Promise<Page> {
    // If a new epoch begins meanwhile, the cursor has the old one, and the next page tells it.
    const { epoch } = changes
    const rows =
      epoch === start.epoch ? await changes.read(uuid, start.seq, limit).catch(nullIfInvalid) : null
    if (rows === null) {
      const position = await headOf(uuid)
      return { body: { reset: true, cursor: cursorOf(position) }, position, isNew: true }
    }
    const position = { epoch, seq: rows.at(-1)?.seq ?? start.seq }
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
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Aborts when the client leaves. */
  readonly left: AbortSignal
}

/** The changes after the number are deleted, or the number is none of this log. */
function nullIfInvalid(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'CONFLICT') return null
  throw error
}

/** Numbers are for the cursor alone. */
function changeBody({ seq, at, ...change }: FileChange) {
  return { ...change, at: at.toISOString() }
}
