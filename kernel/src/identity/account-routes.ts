import { type AuthenticatedUser, NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import type { LiveSessions } from './session-life.ts'
import { sessionView, viewSession } from './session-view.ts'
import type { UserAdministration } from './user-administration.ts'
import { usernamePattern } from './user-changes.ts'
import { signedInUser, viewOf } from './user-view.ts'

const tags = ['account']
const success = Type.Object({ success: Type.Literal(true) })

export interface AccountRouteParts {
  readonly liveSessions: LiveSessions
  readonly administration: UserAdministration
}

/** What a signed-in user may do with their own account: `/api/account` and its sessions. */
export function accountRoutes(app: RoutesApp, { liveSessions, administration }: AccountRouteParts): void {
  app.patch(
    '/api/account',
    {
      schema: {
        summary: 'Change your own name',
        tags,
        body: Type.Object(
          { username: Type.String({ pattern: usernamePattern }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ user: signedInUser }) },
      },
    },
    async (request) => ({
      user: viewOf(await administration.rename(callerOf(request).uuid, request.body.username)),
    }),
  )
  app.get(
    '/api/account/sessions',
    {
      schema: {
        summary: 'Your sessions, newest first',
        tags,
        response: { 200: Type.Object({ sessions: Type.Array(sessionView) }) },
      },
    },
    async (request) => {
      const { uuid, sessionId } = callerOf(request)
      const own = (await liveSessions(uuid)).filter(({ kind }) => kind === 'session')
      return { sessions: own.map((record) => viewSession(record, sessionId)) }
    },
  )
  app.delete(
    '/api/account/sessions/:id',
    {
      schema: {
        summary: 'End one of your sessions',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: success },
      },
    },
    async (request) => {
      await administration.endSession(callerOf(request).uuid, request.params.id, 'session')
      return { success: true as const }
    },
  )
  app.delete(
    '/api/account/sessions',
    {
      schema: {
        summary: 'End all your sessions but this one',
        tags,
        response: { 200: Type.Object({ success: Type.Literal(true), ended: Type.Integer() }) },
      },
    },
    async (request) => {
      const { uuid, sessionId } = callerOf(request)
      const others = (await liveSessions(uuid)).filter(
        ({ kind, id }) => kind === 'session' && id !== sessionId,
      )
      for (const { id } of others) await administration.endIfThere(uuid, id)
      return { success: true as const, ended: others.length }
    },
  )
}

/** Who calls a route that isn't public: the access check has let nobody else through. */
export function callerOf({ user }: FastifyRequest): AuthenticatedUser {
  if (user === null) throw new NodekeepError('UNAUTHORIZED', 'Sign in first: this needs a valid session.')
  return user
}
