import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/**
 * Response headers that pages of other sites may read, in addition to the safelisted ones: those of HTTP, those of resumable uploads (tus 1.0, "Headers"), and
 * those of the node.
 */
const exposedHeaders = [
  'accept-ranges',
  'allow',
  'content-disposition',
  'content-range',
  'etag',
  'location',
  'retry-after',
  'tus-extension',
  'tus-max-size',
  'tus-resumable',
  'tus-version',
  'upload-defer-length',
  'upload-expires',
  'upload-length',
  'upload-metadata',
  'upload-offset',
  'x-nodekeep-deleted',
  'x-nodekeep-path',
  'x-nodekeep-undo',
  'x-oc-mtime',
  'x-request-id',
]

/**
 * Lets pages of the given origins call the routes of an instance, with the user's cookie. Answers to other origins
 * carry no CORS headers, so a browser withholds them from the page.
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  // Browsers write origins without a trailing slash, upper case and the port 443.
  const allowed = new Set(origins.map((url) => new URL(url).origin))
  await app.register(cors, {
    delegator: ({ headers }, done) => {
      const { origin } = headers
      done(null, {
        origin: origin !== undefined && allowed.has(origin) ? origin : false,
        credentials: true,
        exposedHeaders,
        methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
        maxAge: 600,
        preflight: headers['access-control-request-method'] !== undefined,
      })
    },
  })
}

/** Returns whether a route is the one that @fastify/cors adds to every instance. Only the kernel's answers preflights. */
export function isPreflight({ method, url }: { readonly method: unknown; readonly url?: string }): boolean {
  return url === '*' && [method].flat().join() === 'OPTIONS'
}
