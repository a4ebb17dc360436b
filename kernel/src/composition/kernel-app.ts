import type { RoutesApp } from '@nodekeep/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { healthRoutes } from '../health/health-routes.ts'
import { kernelOwner } from '../http/route-table.ts'
import { apiTokenRoutes } from '../sessions/api-token-routes.ts'
import { signInRoutes } from '../sign-in/sign-in-routes.ts'
import { kernelVersion } from '../system/kernel-version.ts'
import { openApiRoute } from '../system/openapi.ts'
import { pluginAdministrationRoutes } from '../system/plugin-administration-routes.ts'
import { accountRoutes } from '../users/account-routes.ts'
import { userRoutes } from '../users/user-routes.ts'
import type { KernelCradle } from './compose.ts'

/** Creates the kernel's own Fastify instance and mounts it, before any plugin's. It also answers requests that match no route. */
export async function createKernelApp(cradle: KernelCradle): Promise<FastifyInstance> {
  const { log, createApp, routeTable, health, nodeOrigins } = cradle
  const { accounts, sessions, userSessions, administration } = cradle
  const { instance, routes } = await createApp(log)
  const app = instance as unknown as RoutesApp
  signInRoutes(app, cradle)
  accountRoutes(app, userSessions, administration)
  apiTokenRoutes(app, sessions, userSessions, routeTable)
  userRoutes(app, accounts, userSessions, administration)
  healthRoutes(app, health)
  pluginAdministrationRoutes(app, cradle)
  openApiRoute(app, routeTable, nodeOrigins, kernelVersion)
  await instance.ready()

  const { routing: handle } = instance
  routeTable.mount({ owner: kernelOwner, routes, foreignErrors: [], handle, upgrade: () => false })
  return instance
}
