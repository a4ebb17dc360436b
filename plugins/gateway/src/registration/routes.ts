import { type NodeAddress, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { Registration } from './registration.ts'
import type { SignedRequest } from './signed-request.ts'

/** The parts of a request that its signature is checked with. */
type Asked = Parameters<NodeAddress['originOf']>[0]

const tags = ['gateway']
const statusPerMinute = 60

const body = Type.Object(
  {
    subdomain: Type.String({ minLength: 1, maxLength: 63, description: 'The name to claim.' }),
    endpoint: Type.String({
      minLength: 1,
      maxLength: 300,
      description:
        'Where the node is: `overlay://<node id>` for its tunnel, or `https://host:port` for its own address on the internet.',
    }),
  },
  { additionalProperties: false },
)
const params = Type.Object({ subdomain: Type.String({ maxLength: 100 }) })

/**
 * The routes `POST /api/gateway/register` (interface, "Gateway registration"), `DELETE /api/gateway/register/:subdomain` and
 * `GET /api/gateway/status/:subdomain`.
 *
 * @param requestsPerMinute registrations and releases of one address
 */
export function registrationRoutes(
  app: RoutesApp,
  registration: Registration,
  address: NodeAddress,
  requestsPerMinute: number,
): void {
  const bodies = keepBodies(app)
  const signed = (request: Asked): SignedRequest => ({
    method: request.raw.method ?? '',
    // The client's own URL: a proxy in front may have ended its TLS. A signature for another gateway does not count here.
    targetUri: `${address.originOf(request).origin}${request.raw.url}`,
    rawHeaders: request.raw.rawHeaders,
    body: bodies.get(request) ?? null,
  })
  const config = {
    access: 'public',
    publicReason:
      'A node proves its key by the signature of the request. Requests are limited for each address.',
    rateLimit: { max: requestsPerMinute, timeWindow: 60_000 },
  } as const
  app.post(
    '/api/gateway/register',
    {
      bodyLimit: 4096,
      config,
      schema: {
        operationId: 'registerName',
        summary: 'Claim a name for a node',
        tags,
        body,
        response: {
          200: Type.Object({ success: Type.Literal(true), subdomain: Type.String(), url: Type.String() }),
        },
      },
    },
    async (request) => ({
      success: true as const,
      ...(await registration.register(signed(request), request.body)),
    }),
  )
  app.delete(
    '/api/gateway/register/:subdomain',
    {
      bodyLimit: 4096,
      config,
      schema: {
        operationId: 'releaseName',
        summary: 'Release a name of a node',
        tags,
        params,
        response: { 200: Type.Object({ success: Type.Literal(true) }) },
      },
    },
    async (request) => {
      await registration.release(signed(request), request.params.subdomain)
      return { success: true as const }
    },
  )
  app.get(
    '/api/gateway/status/:subdomain',
    {
      config: {
        access: 'public',
        publicReason: 'It tells whether a name is free, and whether its node is connected. It names nobody.',
        rateLimit: { max: statusPerMinute, timeWindow: 60_000 },
      },
      schema: {
        operationId: 'nameStatus',
        summary: 'Whether a name is taken, and its node connected',
        tags,
        params,
        response: {
          200: Type.Object({
            subdomain: Type.String(),
            registered: Type.Boolean(),
            connected: Type.Union([Type.Boolean(), Type.Null()]),
            url: Type.Union([Type.String(), Type.Null()]),
          }),
        },
      },
    },
    async ({ params: { subdomain } }) => registration.status(subdomain),
  )
}

/** Keeps the bytes of JSON bodies, of which their digests are made. */
function keepBodies(app: RoutesApp): WeakMap<Asked, Buffer> {
  const bodies = new WeakMap<Asked, Buffer>()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    bodies.set(request, bytes)
    parse(request, bytes.toString(), done)
  })
  return bodies
}
