import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import { addressOf, signText, siweCredentials } from '@nodekeep/login-siwe/client'
import { type Static, type TSchema, Type } from 'typebox'
import { Check } from 'typebox/schema'
import { readJson } from '../remote/bounded-answers.ts'
import { checkToken } from '../remote/node-requests.ts'
import { SyncFailure } from '../sync-failure.ts'
import { nodeUrl } from './node-url.ts'
import { changeSettings } from './settings.ts'
import { keyOfWallet } from './wallet.ts'

/** Options of `nodekeep-sync login`. */
export interface LoginOptions {
  readonly node: string
  /** A file with the private key of a wallet. Without it, a token is read from the standard input. */
  readonly key?: string
  /** The code that a node without an owner prints. The wallet becomes its owner. */
  readonly claim?: string
}

/** The answers of a node that is asked for a token. A node may be hostile. */
const tokenText = Type.String({ minLength: 1, maxLength: 1000 })
const failure = Type.Object({ message: Type.String({ maxLength: 500 }) })
const nonceAnswer = Type.Object({
  nonce: Type.String(),
  expires: Type.String(),
  domain: Type.String(),
  uri: Type.String(),
  chainId: Type.Integer(),
  statement: Type.String(),
})
const sessionAnswer = Type.Object({ sessionToken: tokenText })
const tokenAnswer = Type.Object({ token: tokenText })

/** Stores a token for a node, from the standard input or of a sign-in with a wallet. */
export async function login({ node, key, claim }: LoginOptions): Promise<void> {
  const url = nodeUrl(node)
  if (claim !== undefined && key === undefined)
    throw new SyncFailure('stop', 'Give --claim together with --key.')
  if (key === undefined && process.stdin.isTTY)
    console.error(
      'Paste an API token with the scopes files:read and files:write, then press Enter and Ctrl-D.',
    )
  const token = key === undefined ? (await text(process.stdin)).trim() : await tokenOfWallet(url, key, claim)
  if (token === '')
    throw new SyncFailure(
      'stop',
      'Give a token on the standard input, or the key file of a wallet with --key.',
    )
  checkToken(token)
  // The token is tried where sync uses it: it may have no other scope.
  await ask(url, '/api/sync/devices', Type.Object({}), { token })
  await changeSettings((settings) => ({ ...settings, tokens: { ...settings.tokens, [url.origin]: token } }))
  console.log(`The token for ${url.origin} is stored.`)
}

/** Signs in with a wallet, and creates a token that may do no more than sync. The session ends. */
async function tokenOfWallet(url: URL, file: string, claim: string | undefined): Promise<string> {
  const key = await keyOfWallet(file)
  const nonce = await ask(url, '/auth/siwe/nonce', nonceAnswer)
  // Another site would take the signature for a sign-in of its own.
  if (nonce.domain !== url.host) {
    throw new SyncFailure(
      'stop',
      `${url.origin} asks for a sign-in at ${nonce.domain.slice(0, 100)}, so nothing is signed. Give the address under which the node is known with --node.`,
    )
  }
  const credentials = await siweCredentials(nonce, addressOf(key), async (message) => signText(key, message))
  const { sessionToken } = await ask(url, '/auth/siwe', sessionAnswer, {
    json: { ...credentials, claim },
  })
  const json = {
    name: `sync of ${hostname()}`.slice(0, 100),
    scopes: ['files:read', 'files:write'],
    expiryDays: null,
  }
  const made = await ask(url, '/api/account/tokens', tokenAnswer, { json, token: sessionToken })
  await ask(url, '/auth/logout', Type.Object({}), { json: {}, token: sessionToken })
  return made.token
}

async function ask<Schema extends TSchema>(
  url: URL,
  path: string,
  schema: Schema,
  { json, token }: { json?: unknown; token?: string } = {},
): Promise<Static<Schema>> {
  const answer = await fetch(new URL(path, url), {
    redirect: 'error',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
  }).catch((error: unknown) => {
    throw new SyncFailure('stop', `No node answers at ${url.origin}.`, { cause: error })
  })
  const body = await readJson(answer.body).catch(() => null)
  const expected = answer.ok ? schema : failure
  if (!Check(expected, body))
    throw new SyncFailure('stop', `${url.origin} does not answer as a node. Check the address.`)
  if (!answer.ok) throw new SyncFailure('stop', `${url.origin}: ${(body as Static<typeof failure>).message}`)
  return body as Static<Schema>
}
