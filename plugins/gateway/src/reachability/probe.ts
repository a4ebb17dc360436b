import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { readWithin } from '@nodekeep/plugin-sdk'
import { addressStatement, isSignedBy } from '@nodekeep/plugin-sdk/tunnel'
import { request } from '../connections/node-http.ts'

const maxAnswerBytes = 4096

/**
 * Asks at an address of a node, as a client does, whether this node answers there.
 *
 * @param socket a connection to that address, within TLS for https. It is destroyed at the end.
 * @param url the address
 * @throws Error with a sentence for the log of the node
 */
export async function probe(socket: Duplex, url: string, nodeId: string, signal: AbortSignal): Promise<void> {
  const nonce = randomBytes(16).toString('hex')
  const { host } = new URL(url)
  const { status, body } = await get(socket, host, `/api/overlay/address-proof/${nonce}`, signal)
  if (status !== 200) throw new Error(`The answer has the status ${status}.`)
  if (!isSignedBy(nodeId, addressStatement(nonce, host), signatureIn(body)))
    throw new Error('Another machine answers.')
}

function signatureIn(body: string): Uint8Array {
  let answer: { signature?: unknown } | null
  try {
    answer = JSON.parse(body)
  } catch {
    answer = null
  }
  return Buffer.from(typeof answer?.signature === 'string' ? answer.signature : '', 'base64url')
}

async function get(
  socket: Duplex,
  host: string,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const asking = request({ createConnection: () => socket, path, headers: { host }, signal })
  asking.on('error', reject)
  // Without a listener, Node drops the connection after such an answer, without an event.
  asking.on('upgrade', ({ statusCode: status = 0 }) => resolve({ status, body: '' }))
  asking.on('response', (response) => {
    readWithin(response, maxAnswerBytes).then(
      (body) => resolve({ status: response.statusCode ?? 0, body: String(body) }),
      reject,
    )
  })
  asking.end()
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}
