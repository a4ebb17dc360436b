import { Secret, type Static, Type } from '@nodekeep/plugin-sdk'

/** The section `login-siwe` of the configuration. */
export const configSchema = Type.Object({
  chainId: Type.Integer({
    default: 1,
    minimum: 1,
    description: 'Chain id (EIP-155) that clients put into the message. 1 is Ethereum itself.',
  }),
  statement: Type.String({
    default: 'Sign in to this Nodekeep node.',
    minLength: 1,
    maxLength: 200,
    // What the grammar of EIP-4361 lets stand in a statement.
    pattern: "^[A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;= -]+$",
    description: 'Sentence that the wallet shows to the person who signs: ASCII, one line.',
  }),
  nonceTtlSeconds: Type.Integer({
    default: 300,
    minimum: 1,
    maximum: 86400,
    description: 'How long a nonce can be used, in seconds.',
  }),
  maxAgeSeconds: Type.Integer({
    default: 300,
    minimum: 1,
    maximum: 86400,
    description: 'Largest age of a message by its "Issued At", in seconds.',
  }),
  clockSkewSeconds: Type.Integer({
    default: 30,
    minimum: 0,
    maximum: 600,
    description: "How far the clock of a client may be ahead of the node's, in seconds.",
  }),
  rpcUrls: Type.Record(Type.String({ pattern: '^[1-9][0-9]{0,14}$' }), Secret({ pattern: '^https?://' }), {
    default: {},
    description:
      'JSON-RPC endpoints by chain id. With one, smart-contract wallets of that chain can sign in.',
  }),
  rpcTimeoutMs: Type.Integer({
    default: 5000,
    minimum: 1,
    maximum: 60000,
    description: 'Longest time for one question to a JSON-RPC endpoint, in milliseconds.',
  }),
  noncesPerMinute: Type.Integer({
    default: 60,
    minimum: 1,
    description: 'How often one client address may ask for a nonce, each minute.',
  }),
  maxOutstandingNonces: Type.Integer({
    default: 10000,
    minimum: 1,
    maximum: 1000000,
    description: 'Most nonces that wait for their sign-in. Beyond, the oldest ones end early.',
  }),
})

/** The section, validated and complete. */
export type SiweConfig = Static<typeof configSchema>
