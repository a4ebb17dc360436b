import { type NodeAddress, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { SiweConfig } from './config.ts'
import { loadEthereum } from './ethereum.ts'
import type { Nonces } from './nonces.ts'

const answer = Type.Object({
  nonce: Type.String({ description: 'Goes into the message. Good for one sign-in.' }),
  expires: Type.String({ format: 'date-time', description: 'When the nonce ends.' }),
  domain: Type.String(),
  uri: Type.String(),
  chainId: Type.Integer(),
  statement: Type.String(),
})

/** `GET /auth/siwe/nonce`: what a client puts into the message that the wallet signs. */
export function nonceRoute(app: RoutesApp, config: SiweConfig, nonces: Nonces, address: NodeAddress): void {
  app.get(
    '/auth/siwe/nonce',
    {
      exposeHeadRoute: false,
      config: {
        access: 'public',
        publicReason: 'Who is about to sign in has no session yet. It is limited for each address.',
        rateLimit: { max: config.noncesPerMinute, timeWindow: 60_000 },
      },
      schema: {
        summary: 'Ask for a nonce to sign in with',
        tags: ['authentication'],
        response: { 200: answer },
      },
    },
    async (request, reply) => {
      const { host, origin } = address.originOf(request)
      const { value, expires } = await nonces.issue()
      loadAhead()
      reply.header('cache-control', 'no-store')
      const { chainId, statement } = config
      return { nonce: value, expires: expires.toISOString(), domain: host, uri: origin, chainId, statement }
    },
  )
}

/** While a person looks at the wallet. A failure shows at the sign-in, which loads again. */
function loadAhead(): void {
  setImmediate(() => loadEthereum().catch(() => {}))
}
