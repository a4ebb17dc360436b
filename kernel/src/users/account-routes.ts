import { type RoutesApp, Type, usernamePattern, userOf } from '@nodekeep/plugin-sdk'
import { logSecurityEvent } from '../log/security-events.ts'
import { idleDaysView, sessionView, viewSession } from '../sessions/session-view.ts'
import type { UserSessions } from '../sessions/user-sessions.ts'
import type { UserAdministration } from './user-administration.ts'
import { signedInUser, viewOf } from './user-view.ts'

const tags = ['account']
const success = Type.Object({ success: Type.Literal(true) })

/** Routes for the signed-in user's own account: `/api/account` and its sessions. */
export function accountRoutes(
  app: RoutesApp,
  userSessions: UserSessions,
  administration: UserAdministration,
): void {
  app.patch(
    '/api/account',
    {
      schema: {
        operationId: 'renameAccount',
        summary: 'Change your own name',
        tags,
        body: Type.Object(
          { username: Type.String({ pattern: usernamePattern }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ user: signedInUser }) },
      },
    },
    async (request) => {
      const changed = await administration.update(userOf(request).uuid, request.body)
      const details = { username: changed.username }
      logSecurityEvent(request, 'user-changed', 'A user changed their own name.', details)
      return { user: viewOf(changed) }
    },
  )
  app.get(
    '/api/account/sessions',
    {
      schema: {
        operationId: 'listSessions',
        summary: 'Your sessions, newest first',
        tags,
        response: { 200: Type.Object({ sessions: Type.Array(sessionView), idleDays: idleDaysView }) },
      },
    },
    async (request) => {
      const { uuid, sessionId } = userOf(request)
      const own = await userSessions.live(uuid, 'session')
      return {
        sessions: own.map((record) => viewSession(record, sessionId)),
        idleDays: userSessions.idleDays.session,
      }
    },
  )
  app.delete(
    '/api/account/sessions/:id',
    {
      schema: {
        operationId: 'endSession',
        summary: 'End one of your sessions',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: success },
      },
    },
    async (request) => {
      const { id } = request.params
      await userSessions.end(userOf(request).uuid, id, 'session')
      logSecurityEvent(request, 'session-ended', 'A user ended one of their sessions.', { session: id })
      return { success: true as const }
    },
  )
  app.delete(
    '/api/account/sessions',
    {
      schema: {
        operationId: 'endOtherSessions',
        summary: 'End all your other sessions',
        tags,
        response: { 200: Type.Object({ success: Type.Literal(true), ended: Type.Integer() }) },
      },
    },
    async (request) => {
      const { uuid, sessionId } = userOf(request)
      const others = (await userSessions.live(uuid, 'session')).filter(({ id }) => id !== sessionId)
      for (const { id } of others) await userSessions.endIfPresent(uuid, id)
      const details = { ended: others.length }
      logSecurityEvent(request, 'session-ended', 'A user ended all their other sessions.', details)
      return { success: true as const, ended: others.length }
    },
  )
}
