import Fastify, { type FastifyInstance } from 'fastify'
import { collectRoutes } from './collect-routes.ts'
import { type PlatformOptions, platform } from './platform.ts'
import { RequestLog } from './request-log.ts'
import { logAs } from './request-logger.ts'
import { type MountedRoute, routerOptions } from './route-table.ts'
import { sendError } from './send-error.ts'
import { createValidatorCompiler, type SharedSchemas } from './validator.ts'

export interface AppOptions extends PlatformOptions {
  readonly nextRequestId: () => string
  /** Bytes of a buffered body. */
  readonly bodyLimit: number
  readonly trustedProxies: readonly string[]
  /** Milliseconds that each nested Fastify plugin may take to load. */
  readonly loadTimeoutMs: number
}

/** A Fastify instance that never listens, and the routes that it has so far. */
export interface App {
  readonly instance: FastifyInstance
  readonly routes: readonly MountedRoute[]
}

/** Makes the Fastify instance of one plugin (or of the kernel itself) with what all instances share. */
export async function createApp(options: AppOptions): Promise<App> {
  const instance = Fastify({
    // Fastify would make a child logger and listen to each answer's end for every request of a logger of its own.
    logger: false,
    logController: new RequestLog(),
    genReqId: options.nextRequestId,
    requestIdHeader: false,
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    pluginTimeout: options.loadTimeoutMs,
    routerOptions,
    schemaController: {
      // Given here, Fastify doesn't load a compiler of its own. What it declares is the form of that one. It asks for
      // another whenever schemas to refer to were added.
      compilersFactory: {
        buildValidator: (shared: SharedSchemas) => createValidatorCompiler(shared) as never,
      },
    },
    frameworkErrors: (error, request, reply) => {
      logAs(options.log, request, reply)
      sendError(error, request, reply.header('x-request-id', request.id))
    },
  }) as unknown as FastifyInstance
  instance.log = options.log
  const routes = collectRoutes(instance)
  await instance.register(platform, options)
  return { instance, routes }
}
