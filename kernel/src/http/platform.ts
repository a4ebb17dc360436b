import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import rateLimit from '@fastify/rate-limit'
import sensible from '@fastify/sensible'
import type { ErrorSerializer } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { publicError } from '../errors/public-error.ts'
import { type AccessCheck, tooMany } from '../identity/access.ts'
import { addressGroup } from '../identity/failed-attempts.ts'
import { announcesBody, watchBody } from './body-deadline.ts'
import { answerDirectly } from './direct-answer.ts'
import { pathOf, sendError } from './send-error.ts'

export interface PlatformOptions {
  readonly checkAccess: AccessCheck
  readonly bodyTimeoutMs: number
  /** Origins of other sites whose pages may call the node; none when empty. */
  readonly corsOrigins: readonly string[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by the kernel for routes that were registered with a serializer of their own. */
    serializeError?: ErrorSerializer
  }
}

/** Only `retry-after` is a standard, and the error brings it along. */
const noHeaders = {
  'x-ratelimit-limit': false,
  'x-ratelimit-remaining': false,
  'x-ratelimit-reset': false,
} as const

/**
 * What every Fastify instance of the node shares: who may call, how errors look, cookies, request ids, limits.
 */
export const platform = fastifyPlugin<PlatformOptions>(
  async (app, { checkAccess, bodyTimeoutMs, corsOrigins }) => {
    await app.register(cookie)
    await app.register(sensible)
    if (corsOrigins.length > 0) {
      await app.register(cors, {
        origin: [...corsOrigins],
        credentials: true,
        exposedHeaders: ['x-request-id'],
      })
    }
    await app.register(rateLimit, {
      global: false,
      keyGenerator: ({ ip }) => addressGroup(ip),
      errorResponseBuilder: (_request, { ttl }) =>
        tooMany('Too many requests came from your address.', Math.ceil(ttl / 1000)),
      addHeadersOnExceeding: noHeaders,
      addHeaders: noHeaders,
    })
    app.decorateRequest('user', null)

    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id)
      if (request.is404) done()
      else checkAccess(request, done)
    })
    app.addHook('preParsing', (request, reply, _payload, done) => {
      if (announcesBody(request.raw)) {
        const kind = request.routeOptions.config.body ?? 'buffered'
        watchBody(request.raw, bodyTimeoutMs, kind, () => answerLate(request, reply, bodyTimeoutMs))
      }
      done()
    })
    app.addHook('onResponse', (request, reply, done) => {
      request.log.debug(
        {
          method: request.method,
          path: pathOf(request),
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime),
        },
        'answered',
      )
      done()
    })
    app.setErrorHandler((error, request, reply) => sendError(error, request, reply))
  },
  { name: 'nodekeep-platform' },
)

function answerLate(request: FastifyRequest, reply: FastifyReply, ms: number): void {
  if (reply.raw.headersSent) {
    request.raw.destroy()
    return
  }
  reply.hijack()
  const message = `The request body did not arrive in time: ${ms / 1000} seconds without it.`
  reply.raw.once('finish', () => request.raw.destroy())
  answerDirectly(reply.raw, publicError('REQUEST_TIMEOUT', message, { connection: 'close' }), request.id)
}
