import cookie from '@fastify/cookie'
import rateLimit from '@fastify/rate-limit'
import sensible from '@fastify/sensible'
import type { ErrorSerializer } from '@nodekeep/plugin-sdk'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { type AccessCheck, tooMany } from '../access/access-check.ts'
import { addressGroup } from '../access/failed-attempts.ts'
import { announcesBody, BodyDeadlines } from './body-deadline.ts'
import { allowOrigins, isStrayPreflight } from './cors.ts'
import { logAs } from './request-logger.ts'
import { pathOf, sendError } from './send-error.ts'
import { giveUpBody } from './unread-body.ts'

/** What is done with a request that was let in, before the hooks of a plugin's author. */
export type OnAdmitted = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

export interface PlatformOptions {
  /** Requests log as its children. */
  readonly log: FastifyBaseLogger
  readonly checkAccess: AccessCheck
  readonly bodyTimeoutMs: number
  /** Origins of other sites whose pages may call the node; none when empty. */
  readonly corsOrigins: readonly string[]
  /** Whether each answer is logged, at the level `debug`. */
  readonly logsAnswers: boolean
  readonly onAdmitted?: OnAdmitted
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
  async (app, { log, checkAccess, bodyTimeoutMs, corsOrigins, logsAnswers, onAdmitted }) => {
    const begin = (request: FastifyRequest, reply: FastifyReply) => {
      logAs(log, request, reply)
      reply.header('x-request-id', request.id)
    }
    await app.register(cookie, { hook: false })
    await app.register(sensible)
    if (corsOrigins.length > 0) {
      // @fastify/cors answers preflights before any later hook.
      app.addHook('onRequest', (request, reply, done) => {
        begin(request, reply)
        done()
      })
      await allowOrigins(app, corsOrigins)
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
    // Plain text is what foreign pages can send without asking. A route that wants it says so.
    app.removeContentTypeParser('text/plain')

    app.addHook('onRequest', (request, reply, done) => {
      const { raw } = request
      begin(request, reply)
      request.cookies = raw.headers.cookie === undefined ? noCookies : app.parseCookie(raw.headers.cookie)
      if (announcesBody(raw)) {
        reply.raw.once('finish', () => {
          if (!raw.complete && !raw.socket.destroyed) giveUpBody(raw, bodyTimeoutMs)
        })
      }
      if (request.is404 || isStrayPreflight(request)) done()
      else if (onAdmitted === undefined) checkAccess(request, reply, done)
      else {
        checkAccess(request, reply, (refused) => {
          if (refused === undefined) onAdmitted(request, reply, done)
          else done(refused)
        })
      }
    })
    const bodies = new BodyDeadlines(bodyTimeoutMs)
    app.addHook('preParsing', (request, reply, _payload, done) => {
      if (announcesBody(request.raw)) {
        bodies.watch(request.raw, reply.raw, request.routeOptions.config.body ?? 'buffered')
        if (expectsContinue(request) && !isTooLarge(request)) reply.raw.writeContinue()
      }
      done()
    })
    if (logsAnswers) app.addHook('onResponse', logAnswer)
    app.setErrorHandler((error, request, reply) => sendError(error, request, reply))
  },
  { name: 'nodekeep-platform' },
)

/** One object for all requests without cookies. */
const noCookies = Object.freeze({})

async function logAnswer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { method } = request
  const { statusCode: status, elapsedTime } = reply
  request.log.debug({ method, path: pathOf(request), status, ms: Math.round(elapsedTime) }, 'answered')
}

function expectsContinue({ headers, raw }: FastifyRequest): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && raw.httpVersion !== '1.0'
}

function isTooLarge({ headers, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.body !== 'stream' && Number(headers['content-length']) > routeOptions.bodyLimit
}
