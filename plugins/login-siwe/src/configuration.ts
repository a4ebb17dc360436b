import { Secret, type Static, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  chainId: Type.Integer({
    default: 1,
    minimum: 1,
    description: 'Chain id (EIP-155) for the messages of clients. 1 is Ethereum itself.',
  }),
  statement: Type.String({
    default: 'Sign in to this Nodekeep node.',
    minLength: 1,
    maxLength: 200,
    // The characters that the grammar of EIP-4361 allows in a statement.
    pattern: "^[A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;= -]+$",
    description: 'Sentence that the wallet shows to the user who signs. One line of ASCII.',
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
    description: 'Maximum age of a message by its "Issued At", in seconds.',
  }),
  clockSkewSeconds: Type.Integer({
    default: 30,
    minimum: 0,
    maximum: 600,
    description: "How far a client's clock may be ahead of the node's, in seconds.",
  }),
  rpcUrls: Type.Record(Type.String({ pattern: '^[1-9][0-9]{0,14}$' }), Secret({ pattern: '^https?://' }), {
    default: {},
    description: 'JSON-RPC endpoints by chain id. Smart-contract wallets of these chains can sign in.',
  }),
  rpcTimeoutMs: Type.Integer({
    default: 5000,
    minimum: 1,
    maximum: 60000,
    description: 'Time limit for one request to a JSON-RPC endpoint, in milliseconds.',
  }),
  noncesPerMinute: Type.Integer({
    default: 60,
    minimum: 1,
    description: 'Nonces that one client address may request per minute.',
  }),
  maxOutstandingNonces: Type.Integer({
    default: 10000,
    minimum: 1,
    maximum: 1000000,
    description: 'Maximum number of unused nonces. Beyond it, the oldest ones end early.',
  }),
})

/** The section, validated and complete. */
export type Configuration = Static<typeof configuration>
