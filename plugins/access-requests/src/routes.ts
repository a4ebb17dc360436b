import {
  clientSignal,
  type LoginProvider,
  type NodeAddress,
  NodekeepError,
  parseWallet,
  type RegistryReader,
  type RoutesApp,
  Type,
  usernamePattern,
  userOf,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'
import type { AccessRequests } from './access-requests.ts'

/** Requests that one client address may send per hour. */
const requestsPerHour = 10

/** Time limit of a login provider, in milliseconds. */
const proofMs = 30_000

/** As large as a proof may be at `POST /auth/:provider`. */
const bodyLimit = 64 * 1024

const tags = ['users']
const success = Type.Object({ success: Type.Literal(true) })

const proof = Type.Object(
  {
    provider: Type.String({ description: 'The login provider that verifies the proof, such as `siwe`.' }),
    uuid: Type.String({ minLength: 1, maxLength: 512, description: 'As for `POST /auth/{provider}`.' }),
    address: Type.String({ maxLength: 64, description: 'The wallet address.' }),
    token: Type.String({ minLength: 1, description: 'The proof, in the form of the login provider.' }),
    username: Type.String({ pattern: usernamePattern, description: 'The name that the person wants.' }),
  },
  { additionalProperties: false },
)

const openRequest = Type.Object({
  wallet: Type.String({ description: 'The wallet, which was proven.' }),
  username: Type.String({ description: 'The name that the person wants. Nothing proves it.' }),
  requested: Type.String({ format: 'date-time' }),
})

interface ProofServices {
  readonly logins: RegistryReader<LoginProvider>
  readonly address: NodeAddress
}

/**
 * The routes `POST /auth/access-requests` and `/api/access-requests`. To admit a person is to add the user (`POST /api/users`) and to remove the request, so only the kernel
 * decides who may sign in.
 */
export function accessRequestRoutes(
  app: RoutesApp,
  requests: AccessRequests,
  { logins, address }: ProofServices,
): void {
  app.post(
    // Below /auth, the node refuses pages of other sites, and connections on which others could read the proof.
    '/auth/access-requests',
    {
      bodyLimit,
      config: {
        access: 'public',
        publicReason:
          'A person who asks for admission has no session. A login provider verifies their wallet. Requests are limited for each address.',
        rateLimit: { max: requestsPerHour, timeWindow: 3_600_000 },
      },
      schema: {
        operationId: 'requestAccess',
        summary: 'Ask the owner for admission',
        description: 'The answer is the same for every wallet, whether it has a user or not.',
        tags,
        body: proof,
        response: { 200: success },
      },
    },
    async (request, reply) => {
      const { provider: name, username, ...credentials } = request.body
      const provider = logins.get(name)
      if (provider === undefined) {
        throw new NodekeepError('NOT_FOUND', `There is no login provider "${name}".`)
      }
      const signal = clientSignal(reply)
      const late = new NodekeepError(
        'UPSTREAM_TIMEOUT',
        'The login provider did not answer in time. Try again.',
      )
      const verifying = provider.verify(credentials, { origin: address.originOf(request), signal })
      const wallet = parseWallet((await withTimeLimit(verifying, proofMs, late, signal)).address)
      if (wallet === null) throw new Error(`The login provider "${name}" returned no wallet address.`)
      await requests.add(wallet, username)
      request.log.info(
        { event: 'access-requested', ip: request.ip, provider: name, wallet, username },
        'A person asked for admission.',
      )
      return { success: true as const }
    },
  )
  app.get(
    '/api/access-requests',
    {
      config: { access: 'owner' },
      schema: {
        operationId: 'listAccessRequests',
        summary: 'The people who ask for admission, the oldest request first',
        tags,
        response: { 200: Type.Object({ requests: Type.Array(openRequest) }) },
      },
    },
    async () => ({
      requests: (await requests.list()).map(({ wallet, username, requestedAt }) => ({
        wallet,
        username,
        requested: requestedAt.toISOString(),
      })),
    }),
  )
  app.delete(
    '/api/access-requests/:wallet',
    {
      config: { access: 'owner' },
      schema: {
        operationId: 'removeAccessRequest',
        summary: 'Remove a request, to refuse it or after the user was added',
        tags,
        params: Type.Object({ wallet: Type.String() }),
        response: { 200: success },
      },
    },
    async (request) => {
      const wallet = parseWallet(request.params.wallet)
      if (wallet === null || !(await requests.remove(wallet))) {
        throw new NodekeepError('NOT_FOUND', 'There is no request of this wallet.')
      }
      const { username: user, uuid: userUuid } = userOf(request)
      request.log.info(
        { event: 'access-request-removed', ip: request.ip, user, userUuid, wallet },
        'The owner removed a request for admission.',
      )
      return { success: true as const }
    },
  )
}
