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

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)
const nodeProgram = join(root, 'test/sign-in/fixtures/node.ts')
const remove = (folder: string) => rm(folder, { recursive: true, force: true })

const whoami: Bench = {
  name: 'auth: GET /whoami with a session, against a bare Fastify',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.7 },
  rounds: 3,
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

const start: Bench = {
  name: 'auth: start to listening, with 100,000 stored sessions against 1,000',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 1.1 },
  rounds: 15,
  async setUp() {
    const [many, few] = [await storeSessions(100_000), await storeSessions(1_000)]
    const took = async ({ folder }: StoredSessions) => {
      const began = performance.now()
      const node = await startServer(nodeProgram, [folder])
      const ms = performance.now() - began
      await node.stop()
      return ms
    }
    return {
      ours: () => took(many),
      baseline: () => took(few),
      async tearDown() {
        await remove(many.folder)
        await remove(few.folder)
      },
    }
  },
}

/** Starts a node and calls `/whoami` with a different stored session each time, so that each one is a database lookup. */
async function startLookUps(count: number) {
  const { folder, token } = await storeSessions(count)
  const node = await startServer(nodeProgram, [folder])
  const ahead = Array.from({ length: count }, (_, n) => token(n)).values()
  const ask = async () => {
    const headers = { authorization: `Bearer ${ahead.next().value}` }
    const response = await fetch(new URL('/whoami', node.url), { headers })
    const { user } = (await response.json()) as { user: { authenticated: boolean } }
    if (!user.authenticated) throw new Error('A stored session was not found.')
  }
  return {
    /** Looks up a number of sessions. @returns milliseconds of CPU */
    async lookUp(times: number) {
      const before = await cpuSeconds(node.pid)
      for (let n = 0; n < times; n += 1) await ask()
      return ((await cpuSeconds(node.pid)) - before) * 1000
    },
    async stop() {
      await node.stop()
      await remove(folder)
    },
  }
}

const lookUp: Bench = {
  name: 'auth: 100 look-ups of sessions, with 100,000 stored ones against 10,000',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 1.1 },
  rounds: 59,
  starts: 3,
  async setUp() {
    const [many, few] = [await startLookUps(100_000), await startLookUps(10_000)]
    // Until V8 has compiled the code of a lookup, compiling takes longer than the lookups.
    for (const { lookUp } of [many, few]) await lookUp(4_000)
    return {
      ours: () => many.lookUp(100),
      baseline: () => few.lookUp(100),
      async tearDown() {
        await many.stop()
        await few.stop()
      },
    }
  },
}

const ethereum: Bench = {
  name: "auth: CPU of a sign-in with an Ethereum wallet, with its nonce's",
  unit: 'ms',
  better: 'less',
  goal: { ours: 5 },
  async setUp() {
    const node = await startServer(fixture('siwe-node.ts'))
    const costOf = async (count: number) => {
      const before = await cpuSeconds(node.pid)
      for (let n = 0; n < count; n += 1) await signIn(node.url)
      return (((await cpuSeconds(node.pid)) - before) * 1000) / count
    }
    // A warm-up: each of the first hundred sign-ins takes twice as long.
    await costOf(300)
    return {
      ours: () => costOf(100),
      tearDown: () => node.stop(),
    }
  },
}

export default [whoami, start, lookUp, ethereum] satisfies Bench[]
