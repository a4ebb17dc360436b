import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'

const user = Type.Object({
  uuid: Type.Optional(Type.String()),
  username: Type.Optional(Type.String()),
  wallet: Type.Optional(Type.String()),
  authenticated: Type.Boolean(),
})

/** `GET /whoami` (interface, "Authentication endpoints"): without a valid session an answer, not an error. */
export function whoamiRoute(app: RoutesApp): void {
  app.get(
    '/whoami',
    {
      config: { access: 'public', publicReason: 'It tells a client whether it is signed in.' },
      schema: {
        summary: 'Who is signed in',
        tags: ['authentication'],
        response: { 200: Type.Object({ user }) },
      },
    },
    async ({ user }) => {
      if (user === null) return { user: { authenticated: false } }
      const { uuid, username, wallet } = user
      return { user: { uuid, username, wallet, authenticated: true } }
    },
  )
}
