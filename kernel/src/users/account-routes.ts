import { type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import { sessionView, viewSession } from '../sessions/session-view.ts'
import type { UserSessions } from '../sessions/user-sessions.ts'
import { type UserAdministration, usernamePattern } from './user-administration.ts'
import { signedInUser, viewOf } from './user-view.ts'

const tags = ['account']
const success = Type.Object({ success: Type.Literal(true) })

export interface AccountRouteParts {
  readonly userSessions: UserSessions
  readonly administration: UserAdministration
}

/** Routes for the signed-in user's own account: `/api/account` and its sessions. */
export function accountRoutes(app: RoutesApp, { userSessions, administration }: AccountRouteParts): void {
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
      user: viewOf(await administration.rename(userOf(request).uuid, request.body.username)),
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
      const { uuid, sessionId } = userOf(request)
      const own = (await userSessions.live(uuid)).filter(({ kind }) => kind === 'session')
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
      await userSessions.end(userOf(request).uuid, request.params.id, 'session')
      return { success: true as const }
    },
  )
  app.delete(
    '/api/account/sessions',
    {
      schema: {
        summary: 'End all your other sessions',
        tags,
        response: { 200: Type.Object({ success: Type.Literal(true), ended: Type.Integer() }) },
      },
    },
    async (request) => {
      const { uuid, sessionId } = userOf(request)
      const others = (await userSessions.live(uuid)).filter(
        ({ kind, id }) => kind === 'session' && id !== sessionId,
      )
      for (const { id } of others) await userSessions.endIfPresent(uuid, id)
      return { success: true as const, ended: others.length }
    },
  )
}
