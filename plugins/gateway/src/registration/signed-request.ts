import { hash } from 'node:crypto'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isSignedBy } from '@nodekeep/plugin-sdk/tunnel'
import {
  isSignatureError,
  type SignatureErrorCode,
  type VerifiedSignature,
  verifySignature,
} from 'http-message-sig'
import { parseDictionary } from 'structured-headers'

/** A request as its signature covers it. */
export interface SignedRequest {
  readonly method: string
  /** The whole URL that the client asked for. */
  readonly targetUri: string
  /** Names and values in turn, as Node gives them. */
  readonly rawHeaders: readonly string[]
  /** The bytes of the body; `null` for a request without one. */
  readonly body: Uint8Array | null
}

/** The facts that a signed request proves. */
export interface RequestProof {
  /** The node whose key signed the request. */
  readonly nodeId: string
  /** The single-use text that makes this request different from every other. */
  readonly nonce: string
  /** Unix time in seconds after which the signature is not valid any more. */
  readonly validUntil: number
}

/** Seconds that clocks may differ. */
const clockSkew = 10
/** Seconds for which a signature is valid. */
const lifetime = 300

/**
 * Verifies that the holder of a node's key sent a request (HTTP Message Signatures, RFC 9421), with Ed25519. The signature covers
 * the method, the whole target (`@target-uri`, or `@authority` and `@path`) and the digest of the body (RFC 9530), and names
 * `created`, `nonce` and `keyid`, the DID of the node.
 *
 * The caller sees to it that each nonce is used once.
 *
 * @param now Unix time in seconds
 * @throws NodekeepError UNAUTHORIZED with what is wrong
 */
export async function verifySignedRequest(request: SignedRequest, now: number): Promise<RequestProof> {
  const { method, targetUri, rawHeaders, body } = request
  const fields = fieldsOf(rawHeaders)
  const covered = body === null ? ['@method'] : ['@method', 'content-digest']
  try {
    const { components, parameters } = await verifySignature(
      { kind: 'request', method, targetUri, fields },
      {
        policy: {
          algorithms: ['ed25519'],
          requiredComponents: covered,
          requiredParameters: ['created', 'nonce', 'keyid'],
          maxAge: lifetime - clockSkew,
          clockSkew,
          now,
        },
        resolveVerifier: ({ parameters: { keyid = '' } }) => {
          const nodeId = nodeOf(keyid)
          return { algorithm: 'ed25519', verify: (data, signature) => isSignedBy(nodeId, data, signature) }
        },
      },
    )
    checkTarget(components)
    if (body !== null) checkDigest(fields, body)
    const { keyid = '', nonce = '', created = now } = parameters
    if (!/^[\x21-\x7e]{16,128}$/.test(nonce)) {
      throw refusal('"nonce" must be a random text of 16 to 128 characters without spaces.')
    }
    return { nodeId: nodeOf(keyid), nonce, validUntil: created + lifetime }
  } catch (error) {
    throw isSignatureError(error) ? refusal(reasons[error.code] ?? `${error.message}.`) : error
  }
}

/** The causes that the messages of the library do not make plain. */
const reasons: Partial<Record<SignatureErrorCode, string>> = {
  VerificationFailed: 'The signature does not belong to this request and to the key that "keyid" names.',
  ResolverFailed: '"keyid" must be the DID of a node, such as did:overlay:7Yk…',
}

function refusal(reason: string): NodekeepError {
  return new NodekeepError(
    'UNAUTHORIZED',
    `Sign the request with the key of a node, by HTTP Message Signatures (RFC 9421). ${reason}`,
  )
}

/** Returns the fields that a signature can cover. */
function fieldsOf(rawHeaders: readonly string[]): { name: string; value: string }[] {
  const fields = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (/^[\t\x20-\x7e]*$/.test(value)) fields.push({ name, value })
  }
  return fields
}

function nodeOf(keyid: string): string {
  const nodeId = /^did:overlay:([1-9A-HJ-NP-Za-km-z]{32,44})$/.exec(keyid)?.[1]
  if (nodeId === undefined) throw new Error('This is not the DID of a node.')
  return nodeId
}

function checkTarget(components: VerifiedSignature['components']): void {
  const whole = new Set(
    components.filter(({ parameters }) => Object.keys(parameters).length === 0).map(({ name }) => name),
  )
  if (whole.has('@target-uri') || (whole.has('@authority') && whole.has('@path'))) return
  throw refusal('The signature must cover "@target-uri", or "@authority" and "@path".')
}

/** The algorithms of `content-digest` that count (RFC 9530), by the names that Node gives them. */
const digestAlgorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])

function checkDigest(fields: readonly { name: string; value: string }[], body: Uint8Array): void {
  const digests = fields.filter(({ name }) => name.toLowerCase() === 'content-digest')
  let isChecked = false
  for (const [algorithm, [digest]] of readDigests(digests.map(({ value }) => value).join(', '))) {
    const name = digestAlgorithms.get(algorithm)
    if (name === undefined) continue
    const isRight = digest instanceof ArrayBuffer && hash(name, body, 'buffer').equals(new Uint8Array(digest))
    if (!isRight) throw refusal('The body is not the one that "content-digest" was made of.')
    isChecked = true
  }
  if (!isChecked) throw refusal('"content-digest" must have a digest by sha-256 or sha-512 (RFC 9530).')
}

function readDigests(field: string) {
  try {
    return parseDictionary(field)
  } catch {
    throw refusal('"content-digest" cannot be read (RFC 9530).')
  }
}
