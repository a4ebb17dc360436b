// An import without names would be left out of the published declarations.
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

/** Reads the TypeBox schemas of a route as the types of its request and its answer. An answer with the format `binary` may be bytes or a stream. */
export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends { readonly format: 'binary' }
    ? unknown
    : this['schema'] extends TSchema
      ? Static<this['schema']>
      : unknown
}

/**
 * The Fastify instance on which a plugin registers its routes. Each plugin has its own: hooks, decorators and nested
 * plugins stay inside. The instance never listens: the kernel passes requests to it and answers requests without a
 * route. `setErrorHandler`, `setNotFoundHandler`, `listen` and a route's `errorHandler` are refused: errors have one
 * form on the whole node, unless `serializeError` writes them for a foreign protocol.
 */
export type RoutesApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  SchemaTypes
>

/** Writes errors in the form of a foreign protocol, for routes that speak it (an OpenAI-style API, tus, WebDAV …). */
export type ErrorSerializer = (
  error: ErrorBody & {
    readonly status: number
    /** The `reason` of the NodekeepError. */
    readonly reason: string | null
  },
) => {
  readonly contentType: string
  readonly body: string
}

/** Options for all routes of one call of `routes`. */
export interface RoutesOptions {
  /** A path before every route of the call, such as `/api/notes`. */
  readonly prefix?: string
  /** Writes the errors of these routes, and of unknown paths below `prefix`, in another form than the node's. */
  readonly serializeError?: ErrorSerializer
  /**
   * Enables WebSocket routes: `app.get(path, { websocket: true }, (socket, request) => …)`, as @fastify/websocket
   * describes. A message has at most 1 MiB. Access is checked as for any route.
   */
  readonly webSockets?: boolean
}

/** Registers routes. They answer only while the plugin is active. */
export type Routes = (register: (app: RoutesApp) => void | Promise<void>, options?: RoutesOptions) => void

/**
 * The clients that may call a route.
 *
 * - `user` (default): every user who is signed in
 * - `owner`: the node's owner
 * - `public`: every client; `publicReason` gives the reason
 */
export type RouteAccess = 'user' | 'owner' | 'public'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The user who calls. `null` on a public route if the request has no valid session, or an API token without the
     * route's scope.
     */
    user: AuthenticatedUser | null
  }

  /** The description of a route in `GET /openapi.json`, beside its schemas (OpenAPI 3.1, "Operation Object"). */
  interface FastifySchema {
    /**
     * The name of the operation in generated clients, such as `listNotes`. Unique on the node, otherwise the document adds
     * the plugin's id. By default it is made of method and path: `getNotesById`.
     */
    operationId?: string
    /** The purpose of the route, in one line. */
    summary?: string
    /** A longer description, in Markdown. */
    description?: string
    /** The headings under which the route is shown. Default: the plugin's id. */
    tags?: readonly string[]
    /**
     * The body of a route that parses or streams its body itself (OpenAPI 3.1, "Request Body Object"), such as a form with
     * files. Only the document uses it: the node does not validate such a body. By default the document has `body`.
     */
    requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
    deprecated?: boolean
    /** Leaves the route out of the document. */
    hide?: boolean
  }

  interface FastifyContextConfig {
    access?: RouteAccess
    /** The reason why a public route may be public. Required for it. The owner sees it at `GET /api/system/plugins`. */
    publicReason?: string
    /** The scope that an API token needs, such as `notes:read`. Without a scope, only full sessions may call the route. */
    scope?: string
    /**
     * Limits the calls of one client address. Further calls get 429 with `retry-after`. For public routes that are
     * expensive.
     */
    rateLimit?: { readonly max: number /** Milliseconds. */; readonly timeWindow: number }
    /**
     * `buffered` (default): the whole body must arrive within `server.bodyTimeoutSeconds`.
     * `stream`: the route reads the body itself. Only a stall of `server.bodyTimeoutSeconds` ends the body.
     */
    body?: 'buffered' | 'stream'
    /**
     * Whether an answer may begin later than `server.stallTimeoutSeconds` after the request, as that of a backup. The node
     * closes no connection that waits for such an answer. From the first byte on, the limit applies again.
     */
    answersLate?: boolean
  }
}
