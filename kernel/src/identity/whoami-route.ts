import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { tokenOf } from './request-token.ts'
import type { SessionCookies } from './session-cookie.ts'
import { anonymousUser, signedInUser, viewOf } from './user-view.ts'

/**
 * `GET /whoami` (interface, "Authentication endpoints"): without a valid session an answer, not an error. A browser
 * whose cookie has no session any more is told to drop it.
 */
export function whoamiRoute(app: RoutesApp, cookies: SessionCookies): void {
  app.get(
    '/whoami',
    {
      config: { access: 'public', publicReason: 'It tells a client whether it is signed in.' },
      schema: {
        summary: 'Who is signed in',
        tags: ['authentication'],
        response: { 200: Type.Object({ user: Type.Union([signedInUser, anonymousUser]) }) },
      },
    },
    async (request, reply) => {
      if (request.user !== null) return { user: viewOf(request.user) }
      if (tokenOf(request)?.by === 'cookie') cookies.clear(reply)
      return { user: { authenticated: false as const } }
    },
  )
}
