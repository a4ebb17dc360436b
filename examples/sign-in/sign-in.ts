/** Signs in to a node with a wallet and asks the node who is signed in. See README.md beside this file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type NonceAnswer, siweCredentials } from '@nodekeep/login-siwe/client'
import { Wallet } from 'ethers'

const usage = `Usage: npm run sign-in -w examples/sign-in -- [--claim CODE] [--node URL] [--key FILE]

  --claim CODE  the code that a node without an owner prints when it starts
  --node URL    address of the node (http://127.0.0.1:4200)
  --key FILE    keep the wallet's private key in this file and reuse it; otherwise the wallet is lost
`

const { values: options } = parseArgs({
  options: {
    claim: { type: 'string' },
    node: { type: 'string', default: 'http://127.0.0.1:4200' },
    key: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

/** Calls the node, and throws its message when it refuses. */
async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const url = new URL(path, options.node)
  const response = await fetch(url, init).catch(() => {
    throw new Error(`No node answers at ${url.origin}. Start one with "npm start", or name it with --node.`)
  })
  const body = (await response.json()) as T & { message?: string }
  if (!response.ok) throw new Error(`${response.status}: ${body.message}`)
  return body
}

function openWallet(file: string | undefined) {
  if (file === undefined) return Wallet.createRandom()
  // npm runs this in the folder of the example. A relative path is meant from the user's folder.
  const path = resolve(process.env.INIT_CWD ?? '.', file)
  if (existsSync(path)) return new Wallet(readFileSync(path, 'utf8').trim())
  const wallet = Wallet.createRandom()
  writeFileSync(path, `${wallet.privateKey}\n`, { mode: 0o600 })
  return wallet
}

async function signIn(): Promise<void> {
  const wallet = openWallet(options.key)
  const answer = await ask<NonceAnswer>('/auth/siwe/nonce')
  const credentials = await siweCredentials(answer, wallet.address, (message) => wallet.signMessage(message))
  const { sessionToken } = await ask<{ sessionToken: string }>('/auth/siwe', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...credentials, claim: options.claim }),
  })
  const whoami = await ask('/whoami', { headers: { authorization: `Bearer ${sessionToken}` } })
  console.log(JSON.stringify(whoami, null, 2))
  console.log(`\nTry it:\n\n  TOKEN=${sessionToken}`)
  console.log(`  curl -H "Authorization: Bearer $TOKEN" ${new URL('/whoami', options.node)}`)
}

if (options.help) {
  console.log(usage)
} else {
  await signIn().catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
