import { once } from 'node:events'
import { Agent } from 'node:https'
import acme from 'acme-client'
import axios, { type AxiosError, type AxiosResponse } from 'axios'
import type { FromOrder, Issued, Order, OrderProblem } from './protocol.ts'

/** Milliseconds for one answer of the authority. */
const answerMs = 30_000
/** Bytes of one answer of the authority. */
const answerBytes = 1024 * 1024
/** Characters of the authority's reason that are passed on. */
const reasonLength = 500

// The node is gone, or does not need the certificate any more.
process.once('disconnect', () => process.exit())

const [order] = (await once(process, 'message')) as [Order]
let problem: OrderProblem | null = null
try {
  await tell({ kind: 'issued', ...(await carryOut(order)) })
} catch (error) {
  problem ??= { reason: oneSentence(error), retryAfterMs: 0 }
  await tell({ kind: 'failed', ...problem })
}
process.exit()

function tell(message: FromOrder): Promise<void> {
  return new Promise((resolve) => process.send?.(message, () => resolve()))
}

async function carryOut({ name, directory, ca, email, accountKey }: Order): Promise<Issued> {
  configureRequests(ca, new URL(directory).host)
  const client = new acme.Client({ directoryUrl: directory, accountKey, backoffMin: 1000 })
  const [key, csr] = await acme.crypto.createCsr(
    { altNames: [name] },
    await acme.crypto.createPrivateEcdsaKey(),
  )
  const cert = await client.auto({
    csr,
    termsOfServiceAgreed: true,
    ...(email !== null && { email }),
    challengePriority: ['tls-alpn-01'],
    // The node need not reach its own public address.
    skipChallengeVerification: true,
    async challengeCreateFn(authorization, { type }: { readonly type: string }, keyAuthorization) {
      if (type !== 'tls-alpn-01') throw new Error('The authority does not offer the challenge tls-alpn-01.')
      const [challengeKey, challengeCert] = await acme.crypto.createAlpnCertificate(
        authorization,
        keyAuthorization,
        await acme.crypto.createPrivateEcdsaKey(),
      )
      const isReady = once(process, 'message')
      await tell({ kind: 'challenge', pair: { cert: String(challengeCert), key: String(challengeKey) } })
      await isReady
    },
    async challengeRemoveFn() {},
  })
  return { pair: { cert, key: String(key) }, account: client.getAccountUrl() }
}

/**
 * Bounds the requests of the client, and remembers the first one that failed: the errors of the client do not tell what happened.
 * The client rejects every answer at first. It repeats no request, since the node decides when the next order is.
 */
function configureRequests(ca: string | null, host: string): void {
  const { defaults } = acme.axios
  const send = axios.getAdapter('http')
  defaults.timeout = answerMs
  defaults.maxContentLength = answerBytes
  if (ca !== null) defaults.httpsAgent = new Agent({ ca })
  Object.assign(defaults, { acmeSettings: { retryMaxAttempts: 0 } })
  defaults.adapter = async (config) => {
    try {
      return await send(config)
    } catch (error) {
      const { response, message } = error as AxiosError
      if (response === undefined) {
        problem ??= { reason: oneSentence(`${host} cannot be reached: ${message}`), retryAfterMs: 0 }
      } else if (response.status >= 400 && !isRepeated(response)) problem ??= refusal(response)
      throw error
    }
  }
}

/** The client repeats a request whose nonce was too old (RFC 8555, section 6.5). */
function isRepeated({ data }: AxiosResponse): boolean {
  return String(data).includes('urn:ietf:params:acme:error:badNonce')
}

/** Reads an error of the authority (RFC 8555, section 6.7). */
function refusal({ status, data, headers }: AxiosResponse): OrderProblem {
  const text = String(data)
  let detail: unknown
  try {
    detail = JSON.parse(text).detail
  } catch {
    // It is a page of a proxy, or nothing.
  }
  const reason = typeof detail === 'string' ? detail : `The authority answered with the status ${status}.`
  return { reason: oneSentence(reason), retryAfterMs: retryAfter(headers['retry-after']) }
}

/** Reads the header `retry-after`, which has seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(value: unknown): number {
  const seconds = Number(value)
  const ms = Number.isNaN(seconds) ? Date.parse(String(value)) - Date.now() : seconds * 1000
  return ms > 0 ? ms : 0
}

function oneSentence(reason: unknown): string {
  const text = reason instanceof Error ? reason.message : String(reason)
  const line = text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, reasonLength)
  return /[.!?]$/.test(line) ? line : `${line}.`
}
