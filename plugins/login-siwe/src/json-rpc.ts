import { NodekeepError, readWithin } from '@nodekeep/plugin-sdk'

/** The answer of an endpoint: a result, or an error of JSON-RPC 2.0. */
type RpcAnswer =
  | { readonly result: string }
  | { readonly error: { readonly code: number; readonly message: string } }

/** Calls one endpoint. Rejects with a NodekeepError when there is no answer, or with the signal's reason. */
export type JsonRpc = (method: string, params: readonly unknown[], signal: AbortSignal) => Promise<RpcAnswer>

/** The largest answer that is read, in bytes. Expected answers have some hundred. */
const maxAnswerBytes = 64 * 1024

/**
 * Makes a JSON-RPC 2.0 client over HTTP, for results that are strings. It follows no redirects and never shows the URL,
 * which may contain a key.
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
      return readAnswer(response.ok, String(await readWithin(response.body ?? [], maxAnswerBytes)))
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      if (timeout.aborted) {
        throw new NodekeepError('UPSTREAM_TIMEOUT', 'The chain did not answer in time. Try again.', { cause })
      }
      throw new NodekeepError('UPSTREAM_ERROR', 'The chain cannot be queried now. Try again later.', {
        cause,
      })
    }
  }
}

function request(endpoint: string): { url: string; headers: Record<string, string> } {
  const url = URL.parse(endpoint)
  if (url === null) throw new Error('An address in "login-siwe.rpcUrls" is not a URL.')
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' }
  if (url.username !== '' || url.password !== '') {
    const [user, password] = [url.username, url.password].map(decodeURIComponent)
    headers.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    url.username = ''
    url.password = ''
  }
  return { url: url.href, headers }
}

/** Reads an answer. Some endpoints send errors of JSON-RPC with an HTTP error status, so the body comes first. */
function readAnswer(ok: boolean, text: string): RpcAnswer {
  const { result, error } = JSON.parse(text) ?? {}
  if (typeof error === 'object' && error !== null) {
    return { error: { code: Number(error.code), message: String(error.message) } }
  }
  if (!ok || typeof result !== 'string') throw new Error('The answer is not JSON-RPC.')
  return { result }
}
