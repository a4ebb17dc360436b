import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import { type NonceAnswer, siweCredentials } from '@nodekeep/login-siwe/client'
import { Wallet } from 'ethers'
import { SyncFailure } from '../sync-failure.ts'
import { nodeUrl } from './node-url.ts'
import { changeSettings } from './settings.ts'

/** Options of `nodekeep-sync login`. */
export interface LoginOptions {
  readonly node: string
  /** A file with the private key of a wallet. Without it, a token is read from the standard input. */
  readonly key?: string
  /** The code that a node without an owner prints. The wallet becomes its owner. */
  readonly claim?: string
}

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
  // The token is tried where sync uses it: it may have no other scope.
  await ask(url, '/api/sync/devices', { token })
  await changeSettings((settings) => ({ ...settings, tokens: { ...settings.tokens, [url.origin]: token } }))
  console.log(`The token for ${url.origin} is stored.`)
}

/** Signs in with a wallet, and creates a token that may do no more than sync. The session ends. */
async function tokenOfWallet(url: URL, file: string, claim: string | undefined): Promise<string> {
  const wallet = await walletOf(file)
  const nonce = await ask<NonceAnswer>(url, '/auth/siwe/nonce')
  const credentials = await siweCredentials(nonce, wallet.address, (message) => wallet.signMessage(message))
  const { sessionToken } = await ask<{ sessionToken: string }>(url, '/auth/siwe', {
    json: { ...credentials, claim },
  })
  const json = {
    name: `sync of ${hostname()}`.slice(0, 100),
    scopes: ['files:read', 'files:write'],
    expiryDays: null,
  }
  const { token } = await ask<{ token: string }>(url, '/api/account/tokens', { json, token: sessionToken })
  await ask(url, '/auth/logout', { json: {}, token: sessionToken })
  return token
}

/** The errors of the library would show what is in the file. */
async function walletOf(file: string): Promise<Wallet> {
  try {
    return new Wallet((await readFile(file, 'utf8')).trim())
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code?.startsWith('E') ? message : 'It must contain a private key of 64 hexadecimal digits.'
    throw new SyncFailure('stop', `${file} cannot be used as the key of a wallet. ${reason}`)
  }
}

async function ask<T>(
  url: URL,
  path: string,
  { json, token }: { json?: unknown; token?: string } = {},
): Promise<T> {
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
  const body = (await answer.json().catch(() => {
    throw new SyncFailure('stop', `${url.origin} does not answer as a node. Check the address.`)
  })) as T & { message?: string }
  if (!answer.ok) throw new SyncFailure('stop', `${url.origin}: ${body.message}`)
  return body
}
