import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startNodeProcess } from '../sign-in/fixtures/node-process.ts'
import { proofOf, wallet } from '../sign-in/fixtures/trusting-login.ts'
import type { Fault, Round } from './fault.ts'

/** The answers from before the kill, which must hold after it. */
interface Known {
  /** Valid tokens, with the path that each can read. */
  readonly valid: Map<string, string>
  /** Tokens whose end was confirmed. */
  readonly ended: Set<string>
  /** The user of each wallet. */
  readonly users: Map<string, string>
}

const sessionPath = '/api/account/sessions'

/** The answers to a sign-in and to a new API token. */
interface Answer {
  readonly sessionToken: string
  readonly user: { readonly uuid: string }
  readonly token: string
  readonly details: { readonly id: string }
}

/** A client that signs in, makes API tokens and signs out until the node is killed. */
async function client(url: URL, address: string, known: Known, { random, signal }: Round): Promise<void> {
  const ask = async (path: string, init: RequestInit, token?: string) => {
    const headers = { ...init.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
    const response = await fetch(new URL(path, url), { ...init, headers, signal })
    const body = (await response.json()) as Answer
    assert.equal(response.status, 200, `${path}: ${JSON.stringify(body)}`)
    return body
  }
  for (;;) {
    const { sessionToken, user } = await ask('/auth/test', proofOf(address))
    known.valid.set(sessionToken, sessionPath)
    assert.equal(known.users.get(address) ?? user.uuid, user.uuid)
    known.users.set(address, user.uuid)
    if (random.chance(0.5)) {
      const wish = { method: 'POST', headers: { 'content-type': 'application/json' } }
      const body = JSON.stringify({ name: 'x', scopes: ['notes:read'] })
      const { token, details } = await ask('/api/account/tokens', { ...wish, body }, sessionToken)
      known.valid.set(token, '/notes')
      if (random.chance(0.5)) {
        known.valid.delete(token)
        await ask(`/api/account/tokens/${details.id}`, { method: 'DELETE' }, sessionToken)
        known.ended.add(token)
      }
    }
    if (random.chance(0.5)) {
      known.valid.delete(sessionToken)
      await ask('/auth/logout', { method: 'POST' }, sessionToken)
      known.ended.add(sessionToken)
    }
  }
}

/** Checks every answer again. */
async function check(url: URL, { valid, ended, users }: Known): Promise<void> {
  const status = async (token: string, path: string) => {
    const response = await fetch(new URL(path, url), { headers: { authorization: `Bearer ${token}` } })
    await response.arrayBuffer()
    return response.status
  }
  const found = await Promise.all([...valid].map(([token, path]) => status(token, path)))
  assert.ok(
    found.every((code) => code === 200),
    'A session was lost.',
  )
  for (const token of [...ended].slice(-20)) {
    const path = token.startsWith('nkt_') ? '/notes' : sessionPath
    assert.equal(await status(token, path), 401, 'An ended session came back.')
  }
  for (const [address, uuid] of users) {
    const response = await fetch(new URL('/auth/test', url), proofOf(address))
    const { user } = (await response.json()) as { user: { uuid: string } }
    assert.equal(user.uuid, uuid, 'A wallet became another user.')
  }
}

/** Accepts only the error of a connection that the kill cut. */
function expectCut(error: unknown): void {
  if (!(error instanceof TypeError)) throw error
}

export default {
  name: 'After a node is killed, every issued session is valid, and no ended one.',
  defaultRounds: 40,
  async round(round) {
    const { random, log } = round
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-killed-'))
    const known: Known = { valid: new Map(), ended: new Set(), users: new Map() }
    try {
      const lives = random.chance(0.3) ? 2 : 1
      for (let life = 0; life < lives; life += 1) {
        const node = await startNodeProcess(folder)
        try {
          const clients = Array.from({ length: random.integer(1, 8) }, (_, n) =>
            client(node.url, wallet(n), known, round).catch(expectCut),
          )
          await delay(random.integer(50, 400))
          await node.kill()
          await Promise.all(clients)
        } finally {
          await node.kill()
        }
        log(`life ${life}: ${known.valid.size} sessions answered, ${known.ended.size} ended`)
      }
      const node = await startNodeProcess(folder)
      try {
        await check(node.url, known)
      } finally {
        await node.kill()
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
} satisfies Fault
