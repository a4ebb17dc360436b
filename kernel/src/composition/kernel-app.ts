import type { RoutesApp } from '@nodekeep/plugin-sdk'
import { healthRoutes } from '../health/health-routes.ts'
import { kernelOwner, type RequestHandler } from '../http/route-table.ts'
import { kernelVersion } from '../system/kernel-version.ts'
import { openApiRoute } from '../system/openapi.ts'
import { pluginAdministrationRoutes } from '../system/plugin-administration-routes.ts'
import type { KernelCradle } from './cradle.ts'
import { identityRoutes } from './identity-routes.ts'

/** The kernel's own routes, and the answer to requests that match no route. */
interface KernelApp {
  readonly handle: RequestHandler
  close(): Promise<void>
}

/** Creates the kernel's own Fastify instance and mounts it, before any plugin's. */
export async function createKernelApp(cradle: KernelCradle): Promise<KernelApp> {
  const { log, createApp, routeTable, health, nodeOrigins } = cradle
  const { instance, routes } = await createApp(log)
  const app = instance as unknown as RoutesApp
  identityRoutes(app, cradle)
  healthRoutes(app, health)
  pluginAdministrationRoutes(app, cradle)
  openApiRoute(app, routeTable, nodeOrigins, kernelVersion)
  await instance.ready()

  const { routing: handle } = instance
  routeTable.mount({ owner: kernelOwner, routes, foreignErrors: [], handle, upgrade: () => false })
  return {
    handle,
    async close() {
      routeTable.unmount(kernelOwner)
      await instance.close()
    },
  }
}
