import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import rateLimit from '@fastify/rate-limit'
import sensible from '@fastify/sensible'
import { addressGroup, type ErrorSerializer, isNodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import { tooManyRequests } from '../errors/too-many-requests.ts'
import { RequestLog } from '../log/request-log.ts'
import { senderOf } from '../log/security-events.ts'
import { allowOrigins, isPreflight } from './cors.ts'
import { announcesBody, discardBody, limitBodyTime } from './request-body.ts'
import { loggedPathOf } from './request-path.ts'
import { type ErrorWatchers, sendError } from './send-error.ts'

/** Decides whether a request may go on, and sets `request.user`. Calls back with a NodekeepError when it may not. */
export type AccessCheck = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
) => void

/** Runs for a request that the access check admitted, before the hooks of a plugin's author. */
export type OnAdmitted = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

export interface SharedHooksOptions extends ErrorWatchers {
  /** The parent of the requests' loggers. */
  readonly log: FastifyBaseLogger
  readonly checkAccess: AccessCheck
  /** Answers a request that has no route. */
  readonly answerNotFound: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
  /** Whether browsers should reach the host of a request by https only. */
  readonly cameByHttpsName: (request: FastifyRequest) => boolean
  readonly settings: KernelConfiguration['server']
  readonly onAdmitted?: OnAdmitted
}

/** The property of a Fastify request that says whether it announces a body. */
export const hasBody = Symbol('hasBody')

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by the kernel for routes that were registered with a serializer of their own. */
    serializeError?: ErrorSerializer
  }
  interface FastifyRequest {
    [hasBody]: boolean
  }
}

/** For half a year: as long as checkers of TLS ask for, and a name that is given up is free again. Other names are not the node's. */
const httpsOnly = `max-age=${180 * 24 * 60 * 60}`

/** Only `retry-after` is a standard header, and the error carries it. */
const noHeaders = {
  'x-ratelimit-limit': false,
  'x-ratelimit-remaining': false,
  'x-ratelimit-reset': false,
} as const

/**
 * The hooks and libraries that every Fastify instance of the node shares: the access check, errors, cookies, request
 * ids and limits.
 */
export const sharedHooks = fastifyPlugin<SharedHooksOptions>(
  async (app, options) => {
    const { log, checkAccess, answerNotFound, cameByHttpsName, onAdmitted, settings } = options
    const bodyTimeoutMs = settings.bodyTimeoutSeconds * 1000
    const begin = (request: FastifyRequest, reply: FastifyReply) => {
      logAs(log, request, reply)
      reply.header('x-request-id', request.id)
      if (cameByHttpsName(request)) reply.header('strict-transport-security', httpsOnly)
    }
    await app.register(cookie, { hook: false })
    await app.register(sensible)
    const hasCors = settings.cors.origins.length > 0
    if (hasCors) {
      // @fastify/cors answers preflights before any later hook.
      app.addHook('onRequest', (request, reply, done) => {
        begin(request, reply)
        done()
      })
      await allowOrigins(app, settings.cors.origins)
    }
    await app.register(rateLimit, {
      global: false,
      keyGenerator: ({ ip }) => addressGroup(ip),
      errorResponseBuilder: (_request, { ttl }) =>
        tooManyRequests('Too many requests came from your address.', Math.ceil(ttl / 1000)),
      addHeadersOnExceeding: noHeaders,
      addHeaders: noHeaders,
    })
    app.decorateRequest('user', null)
    app.decorateRequest(hasBody, false)
    // Pages of other sites can send plain text without asking. A route that wants it adds a parser.
    app.removeContentTypeParser('text/plain')

    app.addHook('onRequest', (request, reply, done) => {
      const { raw } = request
      begin(request, reply)
      request.cookies = raw.headers.cookie === undefined ? noCookies : app.parseCookie(raw.headers.cookie)
      if (announcesBody(raw)) {
        request[hasBody] = true
        reply.raw.once('finish', () => {
          if (!raw.complete && !raw.socket.destroyed) discardBody(raw, bodyTimeoutMs)
        })
      }
      // Before the body is read: nobody wants it.
      if (
        request.is404 ||
        (hasCors && isPreflight({ method: request.method, url: request.routeOptions.url ?? '' }))
      )
        answerNotFound(request, reply)
      else if (onAdmitted === undefined) checkAccess(request, reply, done)
      else {
        checkAccess(request, reply, (refused) => {
          if (refused === undefined) onAdmitted(request, reply, done)
          else done(refused)
        })
      }
    })
    app.addHook('preParsing', (request, reply, _payload, done) => {
      if (request[hasBody]) {
        const kind = request.routeOptions.config.body ?? 'buffered'
        limitBodyTime(request.raw, reply.raw, kind, bodyTimeoutMs)
        if (expectsContinue(request) && !isTooLarge(request)) reply.raw.writeContinue()
      }
      done()
    })
    if (['debug', 'trace'].includes(log.level)) app.addHook('onResponse', logAnswer)
    app.addHook('onRoute', expectClientsToLeave)
    app.addHook('onRoute', (route) => waitForLateAnswer(route, settings.stallTimeoutSeconds * 1000))
    app.setErrorHandler((error, request, reply) => sendError(error, request, reply, options))
  },
  { name: 'nodekeep-shared-hooks' },
)

/**
 * Returns a function that makes request ids. They are unique across restarts, short, and never taken from the client. A
 * counter behind a random prefix costs less than randomness for each request.
 */
export function createRequestIds(): () => string {
  const prefix = randomBytes(4).toString('hex')
  let count = 0
  return () => `${prefix}-${++count}`
}

/** Gives a request and its reply a logger that names the request. */
export function logAs(parent: FastifyBaseLogger, request: FastifyRequest, reply: FastifyReply): void {
  const log = new RequestLog(parent, request.id)
  request.log = log
  reply.log = log
}

/**
 * Wraps the handler of a route, so that it may throw the reason of its `clientSignal` after its answer has begun or has
 * been cut off. Fastify would log that as an error.
 */
function expectClientsToLeave(route: RouteOptions & { websocket?: boolean }): void {
  if (route.websocket === true) return
  const { handler } = route
  route.handler = function (request, reply) {
    const answer: unknown = handler.call(this, request, reply)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((error: unknown) => {
      const left =
        reply.sent && reply.raw.closed && isNodekeepError(error) && error.code === 'REQUEST_TIMEOUT'
      if (!left) throw error
      request.log.debug('The client left before the answer was complete.')
    })
  }
}

/** Lets a connection be silent while a route with `answersLate` prepares its answer. */
function waitForLateAnswer(route: RouteOptions, stallTimeoutMs: number): void {
  if (route.config?.answersLate !== true) return
  const wait = async ({ raw }: FastifyRequest) => {
    raw.socket.setTimeout(0)
  }
  const watch = async ({ raw }: FastifyRequest) => {
    raw.socket.setTimeout(stallTimeoutMs)
  }
  route.preHandler = [route.preHandler ?? [], wait].flat()
  route.onSend = [route.onSend ?? [], watch].flat()
}

/** One object for all requests without cookies. */
const noCookies = Object.freeze({})

async function logAnswer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { method } = request
  const { statusCode: status, elapsedTime } = reply
  const ms = Math.round(elapsedTime)
  request.log.debug({ ...senderOf(request), method, path: loggedPathOf(request), status, ms }, 'answered')
}

function expectsContinue({ headers, raw }: FastifyRequest): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && raw.httpVersion !== '1.0'
}

function isTooLarge({ headers, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.body !== 'stream' && Number(headers['content-length']) > routeOptions.bodyLimit
}
