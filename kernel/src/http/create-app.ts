import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { collectRoutes } from './collect-routes.ts'
import { type MountedRoute, routerOptions } from './route-table.ts'
import { sendError } from './send-error.ts'
import { createSerializerCompiler } from './serializer.ts'
import { logAs, type SharedHooksOptions, sharedHooks } from './shared-hooks.ts'
import { createValidatorCompiler, formatSchemaErrors, type SharedSchemas } from './validator.ts'

interface AppOptions extends SharedHooksOptions {
  readonly nextRequestId: () => string
  /** Milliseconds that each nested Fastify plugin may take to load. */
  readonly loadTimeoutMs: number
}

/** A Fastify instance that never listens, and the routes that it has so far. */
export interface App {
  readonly instance: FastifyInstance
  readonly routes: readonly MountedRoute[]
}

/** Creates the Fastify instance of one plugin, or of the kernel itself, with everything that all instances share. */
export async function createApp(options: AppOptions): Promise<App> {
  const { bodyLimit, trustedProxies } = options.settings
  const instance = Fastify({
    // The shared hooks make the logger of a request. With a logger here, Fastify would make another one, and listen to
    // the end of each answer.
    logger: false,
    logController: new AppLog(),
    genReqId: options.nextRequestId,
    requestIdHeader: false,
    bodyLimit,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    pluginTimeout: options.loadTimeoutMs,
    routerOptions,
    schemaController: {
      // With compilers given here, Fastify does not load its own ones, whose forms its types declare. It asks for
      // other compilers whenever shared schemas were added.
      compilersFactory: {
        buildValidator: (shared: SharedSchemas) => createValidatorCompiler(shared) as never,
        buildSerializer: createSerializerCompiler as never,
      },
    },
    schemaErrorFormatter: formatSchemaErrors,
    frameworkErrors: (error, request, reply) => {
      logAs(options.log, request, reply)
      sendError(error, request, reply.header('x-request-id', request.id), options)
    },
  }) as unknown as FastifyInstance
  instance.log = options.log
  const routes = collectRoutes(instance)
  await instance.register(sharedHooks, options)
  // Only `reply.callNotFound()` leads here.
  instance.setNotFoundHandler(options.answerNotFound)
  return { instance, routes }
}

/**
 * Writes Fastify's own log lines without whole requests and answers, which carry data that does not belong in a log.
 * The shared hooks log requests.
 */
class AppLog extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(error: Error, _request: FastifyRequest, reply: FastifyReply): void {
    const left = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE'
    if (left) reply.log.debug('The client left before the answer was complete.')
    else reply.log.error({ err: error }, 'The answer was cut off, because reading its source failed.')
  }
}
