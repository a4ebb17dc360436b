import type { RoutesApp } from '@nodekeep/plugin-sdk'
import { accountRoutes } from '../identity/account-routes.ts'
import { apiTokenRoutes } from '../identity/api-token-routes.ts'
import { createSessionCookies } from '../identity/session-cookie.ts'
import { createLiveSessions } from '../identity/session-life.ts'
import { signInRoutes } from '../identity/sign-in-routes.ts'
import { userRoutes } from '../identity/user-routes.ts'
import { whoamiRoute } from '../identity/whoami-route.ts'
import type { KernelCradle } from './cradle.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Everything around users and their sessions. */
export function identityRoutes(app: RoutesApp, cradle: KernelCradle): void {
  const { accounts, sessions, administration, routeTable, signIn, nodeAddress, configuration } = cradle
  const { server, session, auth } = configuration.kernel
  const cookies = createSessionCookies(server.publicUrl, session.expiryDays)
  whoamiRoute(app, cookies)
  signInRoutes(app, {
    signIn,
    administration,
    address: nodeAddress,
    cookies,
    signInsPerMinute: auth.signInsPerMinute,
  })
  const liveSessions = createLiveSessions(sessions, session.idleDays * dayMs)
  accountRoutes(app, { liveSessions, administration })
  apiTokenRoutes(app, {
    sessions,
    liveSessions,
    administration,
    knownScopes: () => new Set(routeTable.routes.flatMap(({ scope }) => scope ?? [])),
  })
  userRoutes(app, { accounts, liveSessions, administration })
}
