import { NodekeepError } from '@nodekeep/plugin-sdk'

/** What an endpoint answers: a result, or an error of JSON-RPC 2.0. */
export type RpcAnswer =
  | { readonly result: string }
  | { readonly error: { readonly code: number; readonly message: string } }

/** Asks one endpoint. Rejects with a NodekeepError when no answer came, or with the signal's reason. */
export type JsonRpc = (method: string, params: readonly unknown[], signal: AbortSignal) => Promise<RpcAnswer>

/** Bytes of the largest answer that is read. Ours have some hundred. */
const maxAnswerBytes = 64 * 1024

/**
 * A JSON-RPC 2.0 client over HTTP for results that are texts. It follows no redirect and never shows the URL, which
 * may hold a key.
 *
 * @param endpoint a user and password in it are sent as Basic authorization
 */
export function createJsonRpc(endpoint: string, timeoutMs: number): JsonRpc {
  const { url, headers } = request(endpoint)
  return async (method, params, signal) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        redirect: 'error',
        signal: AbortSignal.any([signal, timeout]),
      })
      return readAnswer(response.ok, await readText(response))
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      if (timeout.aborted) {
        throw new NodekeepError('UPSTREAM_TIMEOUT', 'The chain did not answer in time. Try again.', { cause })
      }
      throw new NodekeepError('UPSTREAM_ERROR', 'The chain cannot be asked now. Try again later.', { cause })
    }
  }
}

function request(endpoint: string): { url: string; headers: Record<string, string> } {
  const url = URL.parse(endpoint)
  if (url === null) throw new Error('An address in "login-siwe.rpcUrls" is no URL.')
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' }
  if (url.username !== '' || url.password !== '') {
    const [user, password] = [url.username, url.password].map(decodeURIComponent)
    headers.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    url.username = ''
    url.password = ''
  }
  return { url: url.href, headers }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop by an error cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxAnswerBytes) throw new Error(`The answer has more than ${maxAnswerBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Some endpoints send errors of JSON-RPC with a status of their own; without either, the status says it all. */
function readAnswer(ok: boolean, text: string): RpcAnswer {
  const { result, error } = JSON.parse(text) ?? {}
  if (typeof error === 'object' && error !== null) {
    return { error: { code: Number(error.code), message: String(error.message) } }
  }
  if (!ok || typeof result !== 'string') throw new Error('The answer is not one of JSON-RPC.')
  return { result }
}
