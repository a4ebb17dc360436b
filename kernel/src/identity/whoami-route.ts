import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { anonymousUser, signedInUser, viewOf } from './user-view.ts'

/** `GET /whoami` (interface, "Authentication endpoints"): without a valid session an answer, not an error. */
export function whoamiRoute(app: RoutesApp): void {
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
    async ({ user }) =>
      user === null ? { user: { authenticated: false as const } } : { user: viewOf(user) },
  )
}
