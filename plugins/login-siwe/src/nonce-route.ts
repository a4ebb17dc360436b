import { type NodeAddress, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { Configuration } from './configuration.ts'
import { loadEthereum } from './ethereum.ts'
import type { Nonces } from './nonces.ts'

const answer = Type.Object({
  nonce: Type.String({ description: 'The nonce for the message. It can be used for one sign-in.' }),
  expires: Type.String({ format: 'date-time', description: 'When the nonce expires.' }),
  issuedAt: Type.String({
    format: 'date-time',
    description:
      'The time of the node, for the message: the clock of the device or of the node may be wrong.',
  }),
  domain: Type.String(),
  uri: Type.String(),
  chainId: Type.Integer(),
  statement: Type.String(),
})

/** The route `GET /auth/siwe/nonce`: the values for the message that the wallet signs. */
export function nonceRoute(
  app: RoutesApp,
  config: Configuration,
  nonces: Nonces,
  address: NodeAddress,
): void {
  app.get(
    '/auth/siwe/nonce',
    {
      exposeHeadRoute: false,
      config: {
        access: 'public',
        publicReason:
          'A client that is about to sign in has no session yet. Requests are limited for each address.',
        rateLimit: { max: config.noncesPerMinute, timeWindow: 60_000 },
      },
      schema: {
        operationId: 'getSiweNonce',
        summary: 'Request a nonce for a sign-in',
        tags: ['authentication'],
        response: { 200: answer },
      },
    },
    async (request, reply) => {
      const { host, origin } = address.originOf(request)
      const { value, expires } = await nonces.issue(origin)
      loadAhead()
      reply.header('cache-control', 'no-store')
      const { chainId, statement } = config
      return {
        nonce: value,
        expires: expires.toISOString(),
        issuedAt: new Date().toISOString(),
        domain: host,
        uri: origin,
        chainId,
        statement,
      }
    },
  )
}

/** Loads the libraries while the user looks at the wallet. If it fails, the sign-in loads again and reports the error. */
function loadAhead(): void {
  setImmediate(() => loadEthereum().catch(() => {}))
}
