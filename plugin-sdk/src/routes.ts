// An import that names nothing would not come into the published declarations.
/// <reference types="@fastify/sensible" preserve="true" />
/// <reference types="@fastify/websocket" preserve="true" />
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { AuthenticatedUser } from './contracts/users.ts'
import type { ErrorBody } from './errors.ts'

/** Reads TypeBox schemas of a route as the types of its request and its answer. */
export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

/**
 * The Fastify instance that a plugin registers its routes on. It is the plugin's own: hooks, decorators and
 * nested plugins stay inside. It never listens; the kernel hands requests to it and answers what no route is there
 * for. `setErrorHandler`, `setNotFoundHandler`, `listen` and a route's `errorHandler` are refused: errors have one
 * form on the whole node, unless `serializeError` writes them for a foreign protocol.
 */
export type RoutesApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  SchemaTypes
>

/** How one foreign protocol writes errors, for routes that speak it (an OpenAI-style API, tus, WebDAV …). */
export type ErrorSerializer = (error: ErrorBody & { readonly status: number }) => {
  readonly contentType: string
  readonly body: string
}

/** What holds for all routes of one call of `routes`. */
export interface RoutesOptions {
  /** A path before every route of the call, such as `/api/notes`. */
  readonly prefix?: string
  /** Writes the errors of these routes, and of unknown paths below `prefix`, in another form than the node's. */
  readonly serializeError?: ErrorSerializer
  /**
   * Makes WebSocket routes possible: `app.get(path, { websocket: true }, (socket, request) => …)`, as
   * @fastify/websocket describes. Messages are at most 1 MiB; who may connect is checked as for any route.
   */
  readonly webSockets?: boolean
}

/** Registers routes. Nothing answers before the plugin is active, and nothing after it stopped. */
export type Routes = (register: (app: RoutesApp) => void | Promise<void>, options?: RoutesOptions) => void

/**
 * Who may call a route.
 *
 * - `user` (also when nothing is said): anyone signed in
 * - `owner`: the node's owner
 * - `public`: everyone; `publicReason` says why that is right
 */
export type RouteAccess = 'user' | 'owner' | 'public'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Who calls. `null` on public routes when the request carries no valid session, or an API token without the
     * route's scope.
     */
    user: AuthenticatedUser | null
  }

  /** What `GET /openapi.json` tells about a route beside its shapes (OpenAPI 3.1, "Operation Object"). */
  interface FastifySchema {
    /** One line that says what the route does. */
    summary?: string
    /** More about it, in Markdown. */
    description?: string
    /** Under which headings the route is shown. */
    tags?: readonly string[]
    deprecated?: boolean
    /** Leaves the route out of the document. */
    hide?: boolean
  }

  interface FastifyContextConfig {
    access?: RouteAccess
    /** Why a public route may be public. Required for those, and shown to the owner at `GET /api/system/plugins`. */
    publicReason?: string
    /** The scope that an API token needs, such as `notes:read`. Without one, only full sessions may call. */
    scope?: string
    /**
     * Limits how often one client address may call, with 429 and `retry-after` beyond. For routes that anyone may
     * call and that cost something.
     */
    rateLimit?: { readonly max: number /** Milliseconds. */; readonly timeWindow: number }
    /**
     * `buffered` (default): the body must have arrived within `server.bodyTimeoutSeconds`.
     * `stream`: the route reads the body itself; only a stall of that length ends it.
     */
    body?: 'buffered' | 'stream'
  }
}
