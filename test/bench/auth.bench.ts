import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../run/command.ts'
import { proofOf, wallet } from '../sign-in/fixtures/trusting-login.ts'
import type { Bench } from './bench.ts'
import { signIn } from './fixtures/siwe-sign-in.ts'
import { type StoredSessions, storeSessions } from './fixtures/stored-sessions.ts'
import { loadHttp } from './http-load.ts'
import { cpuSeconds, startServer } from './process.ts'

const fixture = (name: string) => join(root, 'test/bench/fixtures', name)
const nodeProgram = join(root, 'test/sign-in/fixtures/node.ts')
const remove = (folder: string) => rm(folder, { recursive: true, force: true })

const whoami: Bench = {
  name: 'auth: GET /whoami with a session, against a bare Fastify',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.7 },
  async setUp() {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
    const ours = await startServer(nodeProgram, [folder])
    const bare = await startServer(fixture('bare-whoami.ts'))
    const signedIn = await fetch(new URL('/auth/test', ours.url), proofOf(wallet(1)))
    const { sessionToken } = (await signedIn.json()) as { sessionToken: string }
    const headers = { authorization: `Bearer ${sessionToken}` }
    const rate = async (url: URL) =>
      (await loadHttp({ url: new URL('/whoami', url), headers })).requestsPerSecond
    return {
      ours: () => rate(ours.url),
      baseline: () => rate(bare.url),
      async tearDown() {
        await ours.stop()
        await bare.stop()
        await remove(folder)
      },
    }
  },
}

/** Compares a node that has many sessions with one that has few. */
function amongMany(name: string, figure: (sessions: StoredSessions) => Promise<number>): Bench {
  return {
    name: `auth: ${name}, with 100,000 stored sessions against 1,000`,
    unit: 'ms',
    better: 'less',
    goal: { ratio: 1.1 },
    rounds: 9,
    async setUp() {
      const [many, few] = [await storeSessions(100_000), await storeSessions(1_000)]
      return {
        ours: () => figure(many),
        baseline: () => figure(few),
        tearDown: async () => {
          await remove(many.folder)
          await remove(few.folder)
        },
      }
    },
  }
}

const start = amongMany('start to listening', async ({ folder }) => {
  const began = performance.now()
  const node = await startServer(nodeProgram, [folder])
  const took = performance.now() - began
  await node.stop()
  return took
})

/** Each session is asked for once, so that every request looks it up in the database. */
const lookUp = amongMany('1,000 look-ups of sessions', async ({ folder, token }) => {
  const node = await startServer(nodeProgram, [folder])
  try {
    const ask = async (n: number) => {
      const headers = { authorization: `Bearer ${token(n)}` }
      const response = await fetch(new URL('/whoami', node.url), { headers })
      const { user } = (await response.json()) as { user: { authenticated: boolean } }
      if (!user.authenticated) throw new Error('A stored session was not found.')
    }
    // Until V8 has compiled all that a request runs: that takes as much as the look-ups.
    for (let n = 0; n < 4_000; n += 1) await ask(n % 10)
    const before = await cpuSeconds(node.pid)
    for (let n = 0; n < 1_000; n += 1) await ask(n)
    return ((await cpuSeconds(node.pid)) - before) * 1000
  } finally {
    await node.stop()
  }
})

const ethereum: Bench = {
  name: "auth: CPU of a sign-in with an Ethereum wallet, with its nonce's",
  unit: 'ms',
  better: 'less',
  goal: { ours: 5 },
  async setUp() {
    const node = await startServer(fixture('siwe-node.ts'))
    const count = 100
    return {
      async ours() {
        const before = await cpuSeconds(node.pid)
        for (let n = 0; n < count; n += 1) await signIn(node.url)
        return (((await cpuSeconds(node.pid)) - before) * 1000) / count
      },
      tearDown: () => node.stop(),
    }
  },
}

export default [whoami, start, lookUp, ethereum] satisfies Bench[]
