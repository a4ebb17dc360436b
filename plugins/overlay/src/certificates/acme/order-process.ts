import { once } from 'node:events'
import { Agent } from 'node:https'
import { isDeepStrictEqual } from 'node:util'
import acme from 'acme-client'
import axios, { type AxiosError, type AxiosResponse } from 'axios'
import type { FromOrder, Issued, Order, OrderProblem } from './protocol.ts'

/** Milliseconds for one answer of the authority. */
const answerMs = 30_000
/** Bytes of one answer of the authority. */
const answerBytes = 1024 * 1024
/** Characters of the authority's reason that are passed on. */
const reasonLength = 500

/** A request that failed. */
interface Failure extends OrderProblem {
  /** The authority's type of the error (RFC 8555, section 6.7), without its namespace; `null` for other failures. */
  readonly type: string | null
}

// The node is gone, or does not need the certificate any more.
process.once('disconnect', () => process.exit())

const [order] = (await once(process, 'message')) as [Order]
let failure = null as Failure | null
let isAccountClosed = false
try {
  await tell({ kind: 'issued', ...(await carryOut(order)) })
} catch (error) {
  await tell({ kind: 'failed', isAccountClosed, ...(failure ?? fault(error)) })
}
process.exit()

function tell(message: FromOrder): Promise<void> {
  return new Promise((resolve) => process.send?.(message, () => resolve()))
}

async function carryOut({ name, directory, ca, email, accountKey }: Order): Promise<Issued> {
  configureRequests(ca, new URL(directory).host)
  const client = new acme.Client({ directoryUrl: directory, accountKey, backoffMin: 1000 })
  await openAccount(client, email === null ? [] : [`mailto:${email}`])
  const [key, csr] = await acme.crypto.createCsr(
    { altNames: [name] },
    await acme.crypto.createPrivateEcdsaKey(),
  )
  const cert = await client.auto({
    csr,
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
 * Finds the account of the key, or registers it (RFC 8555, section 7.3). The client itself would update the account at each order,
 * and authorities may refuse an update without a contact.
 */
async function openAccount(client: acme.Client, contact: string[]): Promise<void> {
  try {
    const known = await client.createAccount({ onlyReturnExisting: true })
    if (!isDeepStrictEqual(known.contact ?? [], contact)) await client.updateAccount({ contact })
  } catch (error) {
    // An authority answers so about an account that it, or its owner, has deactivated (RFC 8555, section 7.3.6).
    isAccountClosed = failure?.type === 'unauthorized'
    if (failure?.type !== 'accountDoesNotExist') throw error
    failure = null
    await client.createAccount({ termsOfServiceAgreed: true, contact })
  }
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
      if (response === undefined) failure ??= fault(`${host} cannot be reached: ${message}`)
      else if (response.status >= 400) noteRefusal(response)
      throw error
    }
  }
}

/** Reads an error of the authority (RFC 8555, section 6.7). */
function noteRefusal({ status, data, headers }: AxiosResponse): void {
  let error: { readonly type?: unknown; readonly detail?: unknown } | null
  try {
    error = JSON.parse(String(data))
  } catch {
    // It is a page of a proxy, or nothing.
    error = null
  }
  const type = String(error?.type).replace('urn:ietf:params:acme:error:', '')
  // The client repeats a request whose nonce was too old (RFC 8555, section 6.5).
  if (type === 'badNonce') return
  const reason =
    typeof error?.detail === 'string' ? error.detail : `The authority answered with the status ${status}.`
  failure ??= { type, reason: oneSentence(reason), retryAfterMs: retryAfter(headers['retry-after']) }
}

function fault(reason: unknown): Failure {
  return { type: null, reason: oneSentence(reason), retryAfterMs: 0 }
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
