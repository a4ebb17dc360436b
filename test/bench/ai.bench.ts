import type { Bench } from './bench.ts'
import { type AiServers, runClient, startAiServers } from './fixtures/ai-stand.ts'
import type { StreamTimes } from './fixtures/ai-stream-times.ts'
import { type LoadOptions, loadHttp } from './http-load.ts'
import { residentMB } from './process.ts'

const streams = 200
/** One model replies as fast as it can, the other like large models: 50 texts a second. */
const fast = '200-apart'
const paced = '200-every20ms'

/** The request of the load generator for a whole reply of ten pieces. */
function wholeChat({ node, token }: AiServers): LoadOptions {
  return {
    url: new URL('/api/ai/chat', node.url),
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ provider: 'openai', ...chatBody }),
  }
}

const chatBody = { model: '10', messages: [{ role: 'user', content: 'Hello' }] }

const latency: Bench = {
  name: 'ai: time that the node adds to a whole reply, against the SDK alone, p50',
  unit: 'ms',
  better: 'less',
  goal: { ours: 0.5 },
  async setUp() {
    const servers = await startAiServers()
    return {
      async ours() {
        const direct = await runClient<number>(
          'ai-direct-latency.ts',
          servers.upstream.url.origin,
          chatBody.model,
          '2',
        )
        const { p50Ms } = await loadHttp({ ...wholeChat(servers), connections: 1, seconds: 2 })
        return p50Ms - direct
      },
      tearDown: servers.tearDown,
    }
  },
}

const requests: Bench = {
  name: 'ai: whole replies, 32 connections, against bare Fastify with the SDK',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.8 },
  rounds: 3,
  async setUp() {
    const servers = await startAiServers()
    const bare = await servers.start('ai-bare-fastify.ts')
    const bareChat: LoadOptions = {
      url: new URL('/chat', bare.url),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chatBody),
    }
    return {
      ours: async () => (await loadHttp(wholeChat(servers))).requestsPerSecond,
      baseline: async () => (await loadHttp(bareChat)).requestsPerSecond,
      tearDown: servers.tearDown,
    }
  },
}

function nodeStreams({ node, token }: AiServers, model = fast, count = streams): Promise<StreamTimes> {
  return runClient('ai-streams.ts', node.url.origin, token, model, `${count}`)
}

function directStreams({ upstream }: AiServers, model = fast): Promise<StreamTimes> {
  return runClient('ai-direct-streams.ts', upstream.url.origin, model, `${streams}`)
}

const total: Bench = {
  name: 'ai: 200 streams of 200 pieces at once, against the SDK alone',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 1.3 },
  also: [
    {
      // This is how fast 200 calls can be set up: the median stream waits for the work on a hundred others. The goal of the total
      // bounds it.
      name: 'ai: first text of 200 streams that begin in the same instant, p50, against the SDK alone',
      unit: 'ms',
      better: 'less',
    },
  ],
  async setUp() {
    const servers = await startAiServers()
    const figures = ({ totalMs, firstTextMs }: StreamTimes) => [totalMs, firstTextMs]
    return {
      ours: async () => figures(await nodeStreams(servers)),
      baseline: async () => figures(await directStreams(servers)),
      tearDown: servers.tearDown,
    }
  },
}

/**
 * Each stream has 200 pieces, one every 20 ms, and is followed by another, so streams begin at any time while others run.
 * A round takes eight seconds. The first four do not count, because not all streams run yet.
 */
const firstText: Bench = {
  name: 'ai: time that the node adds to the first text of a stream while 200 run, p50',
  unit: 'ms',
  better: 'less',
  goal: { ours: 10 },
  rounds: 2,
  async setUp() {
    const servers = await startAiServers()
    return {
      async ours() {
        const direct = await directStreams(servers, paced)
        return (await nodeStreams(servers, paced)).firstTextMs - direct.firstTextMs
      },
      tearDown: servers.tearDown,
    }
  },
}

/** Each round has a fresh node, because a node reuses the memory of earlier streams. */
const memory: Bench = {
  name: 'ai: memory of the node for each of 200 streams, at its highest',
  unit: 'MB',
  better: 'less',
  goal: { ours: 1 },
  rounds: 3,
  fresh: true,
  async setUp() {
    return { ours: memoryOfAStream }
  },
}

async function memoryOfAStream(): Promise<number> {
  const servers = await startAiServers()
  const { pid } = servers.node
  let watch: NodeJS.Timeout | undefined
  try {
    // The first chat loads the SDK.
    await nodeStreams(servers, '1', 1)
    const before = await residentMB(pid)
    let highest = before
    watch = setInterval(async () => {
      highest = Math.max(highest, await residentMB(pid))
    }, 20)
    await nodeStreams(servers)
    return (highest - before) / streams
  } finally {
    clearInterval(watch)
    await servers.tearDown()
  }
}

export default [latency, requests, total, firstText, memory] satisfies Bench[]
