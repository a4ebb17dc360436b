import { hash, randomBytes } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import { type NodeIdentity, readWithin } from '@nodekeep/plugin-sdk'
import { createSignatureSync } from 'http-message-sig'
import { connectToGateway, type GatewayRoute } from './connect-to-gateway.ts'
import { GatewayRefusal } from './gateway-refusal.ts'

/** Milliseconds for a request and its answer. */
const answerMs = 15_000
const maxAnswerBytes = 4096
/** Characters of the gateway's reason that are passed on. */
const reasonLength = 500

/** A request to the API of a gateway. */
export interface GatewayRequest {
  readonly method: 'POST' | 'DELETE'
  /** The host of the gateway's API, as the gateway knows it: its domain, with the port of https if that is not 443. */
  readonly host: string
  readonly path: string
  readonly body?: unknown
}

/**
 * Sends a request to the gateway's own API, through the tunnel, and with a signature of the node's key (RFC 9421).
 *
 * @throws GatewayRefusal if the gateway answers with an error; Error with a sentence if it does not answer; the signal's reason
 */
export async function askGateway(
  route: GatewayRoute,
  identity: NodeIdentity,
  { method, host, path, body }: GatewayRequest,
  signal: AbortSignal,
): Promise<void> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const content = {
    'content-type': 'application/json',
    'content-digest': `sha-256=:${hash('sha256', text, 'base64')}:`,
  }
  const fields = text === '' ? [] : Object.entries(content).map(([name, value]) => ({ name, value }))
  const { signature, signatureInput } = createSignatureSync(
    { kind: 'request', method, targetUri: `https://${host}${path}`, fields },
    {
      components: ['@method', '@target-uri', ...(text === '' ? [] : ['content-digest'])],
      parameters: {
        created: Math.floor(Date.now() / 1000),
        nonce: randomBytes(16).toString('base64url'),
        keyid: identity.did,
      },
      signer: { algorithm: 'ed25519', sign: (bytes) => identity.sign(bytes) },
    },
  )
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
  const { socket } = await connectToGateway(route, { purpose: 'api' }, inTime)
  try {
    const asking = request({
      createConnection: () => socket,
      method,
      path,
      headers: {
        ...(text === '' ? {} : content),
        host,
        signature,
        'signature-input': signatureInput,
        connection: 'close',
      },
      signal: inTime,
    })
    const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    asking.on('response', resolve).on('error', reject)
    // Without a listener, Node drops the connection after such an answer, and tells nobody.
    asking.on('upgrade', ({ statusCode: status = 0 }) =>
      reject(new GatewayRefusal(status, statusOnly(status))),
    )
    asking.end(text)
    const response = await answered
    const answer = String(await readWithin(response, maxAnswerBytes))
    const { statusCode: status = 0 } = response
    if (status !== 200) throw new GatewayRefusal(status, reasonOf(answer, status))
  } catch (error) {
    if (inTime.aborted && !signal.aborted) throw new Error(`It did not answer within ${answerMs / 1000} s.`)
    throw error
  } finally {
    socket.destroy()
  }
}

/** Returns the message of an error of a node. */
function reasonOf(answer: string, status: number): string {
  let message: unknown
  try {
    message = JSON.parse(answer).message
  } catch {
    // It is no node that answers.
  }
  return typeof message === 'string' ? message.slice(0, reasonLength) : statusOnly(status)
}

function statusOnly(status: number): string {
  return `It answered with the status ${status}.`
}
