import type { RoutesApp } from '@nodekeep/plugin-sdk'
import { apiTokenRoutes } from '../sessions/api-token-routes.ts'
import { signInRoutes } from '../sign-in/sign-in-routes.ts'
import { accountRoutes } from '../users/account-routes.ts'
import { userRoutes } from '../users/user-routes.ts'
import type { KernelCradle } from './cradle.ts'

/** All routes about users and their sessions. */
export function identityRoutes(app: RoutesApp, cradle: KernelCradle): void {
  const { accounts, sessions, userSessions, administration, routeTable } = cradle
  const { signIn, nodeOrigins, sessionCookies, authenticator } = cradle
  const { session, auth } = cradle.configuration.kernel
  signInRoutes(app, {
    signIn,
    userSessions,
    authenticator,
    origins: nodeOrigins,
    cookies: sessionCookies,
    signInsPerMinute: auth.signInsPerMinute,
    expiryDays: session.expiryDays,
  })
  accountRoutes(app, userSessions, administration)
  apiTokenRoutes(app, sessions, userSessions, routeTable)
  userRoutes(app, accounts, userSessions, administration)
}
