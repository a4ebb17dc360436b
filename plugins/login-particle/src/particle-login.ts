import {
  type Log,
  type LoginCircumstances,
  type LoginCredentials,
  type LoginProvider,
  NodekeepError,
  type VerifiedLogin,
} from '@nodekeep/plugin-sdk'
import { readAnswer, requestId, type UserInfo } from './answer.ts'
import { exchange } from './exchange.ts'

const forms = {
  uuid: {
    pattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    meaning: "the user's UUID at Particle Network",
  },
  address: { pattern: /^0x[0-9a-f]{40}$/i, meaning: 'a wallet address: "0x" and 40 hexadecimal digits' },
  token: {
    pattern: /^[\x21-\x7e]{1,4096}$/,
    meaning: "the user's token of Particle Network: 1 to 4096 visible ASCII characters",
  },
} as const

/** The parts and settings of the provider. */
interface ParticleLoginOptions {
  readonly projectId: string
  readonly serverKey: string
  readonly endpoint: URL
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** The name of the configuration section, for the log. */
  readonly section: string
  readonly log: Log
  /** Aborted when the plugin has stopped. */
  readonly stopped: AbortSignal
}

/** Signs in users whom Particle Network knows by uuid and token, with a wallet that it keeps for them. */
export class ParticleLogin implements LoginProvider {
  readonly #options: ParticleLoginOptions

  constructor(options: ParticleLoginOptions) {
    this.#options = options
  }

  async verify(
    credentials: LoginCredentials,
    { signal }: Pick<LoginCircumstances, 'signal'>,
  ): Promise<VerifiedLogin> {
    checkCredentials(credentials)
    const { uuid, token } = credentials
    const { projectId, serverKey } = this.#options
    const answer = readAnswer(
      await exchange({
        ...this.#options,
        authorization: `Basic ${Buffer.from(`${projectId}:${serverKey}`).toString('base64')}`,
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: requestId,
          method: 'getUserInfo',
          params: [uuid, token],
        }),
        signal,
      }),
    )
    if (answer.kind === 'key-refused') throw this.#keyRefused(answer.code)
    if (answer.kind === 'unproven') {
      this.#options.log.info({ particleCode: answer.code }, 'Particle Network did not confirm a sign-in.')
      throw new NodekeepError(
        'UNAUTHORIZED',
        'Particle Network does not know this user with this token. Sign in there again.',
      )
    }
    return proven(credentials, answer.user)
  }

  #keyRefused(code: number): NodekeepError {
    const { log, section } = this.#options
    log.error(
      { particleCode: code },
      `Particle Network refused the node's project. Check ${section}.projectId and ${section}.serverKey against its dashboard.`,
    )
    return new NodekeepError(
      'UPSTREAM_ERROR',
      'Particle Network does not accept this node. Ask its owner to correct the configuration.',
    )
  }
}

/** Returns uuid and address from the answer, since the request does not prove them. */
function proven({ uuid, address }: LoginCredentials, user: UserInfo): VerifiedLogin {
  if (user.uuid !== uuid) {
    throw new NodekeepError('UNAUTHORIZED', 'Particle Network knows this token for another user.')
  }
  const wallet = user.evmAddresses.find((known) => known.toLowerCase() === address.toLowerCase())
  if (wallet === undefined) {
    throw new NodekeepError(
      'UNAUTHORIZED',
      'The wallet is not among the EVM wallets that Particle Network keeps for this user.',
    )
  }
  return { uuid: user.uuid, address: wallet }
}

/**
 * Checks the form of the credentials before they are passed on. The uuids of Particle Network are UUIDs. The form of its
 * tokens is not documented, so a token may be any short text without spaces.
 *
 * @throws NodekeepError VALIDATION_ERROR that names the first malformed field
 */
function checkCredentials(credentials: LoginCredentials): void {
  for (const [field, { pattern, meaning }] of Object.entries(forms)) {
    const value: unknown = credentials[field as keyof typeof forms]
    if (typeof value !== 'string' || !pattern.test(value)) {
      throw new NodekeepError('VALIDATION_ERROR', `"${field}" must be ${meaning}.`)
    }
  }
}
