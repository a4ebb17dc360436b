import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { type BadLine, openLine } from '../overlay/fixtures/bad-line.ts'
import { maxTallied, type Tally } from '../overlay/fixtures/tally.ts'
import { type Outcome, TallyClient, type TallyRequest } from '../overlay/fixtures/tally-client.ts'
import { teardowns } from '../overlay/fixtures/teardowns.ts'
import { startTunnelProcesses } from '../overlay/fixtures/tunnel-processes.ts'
import type { Fault } from './fault.ts'
import { type Random, randomOf } from './random.ts'

/** Requests of a round. All rounds together have 100,000. */
const requests = 1000
const defaultRounds = 100
const clientCount = 16

/** The share of requests before which a connection is cut. All others are in use meanwhile. */
const cutShare = 0.1

/** Milliseconds after which a client that was refused comes again. */
const refusedMs = 50

function requestOf(random: Random, id: number): TallyRequest {
  const bytes = () => random.integer(0, random.pick([0, 200, 2000, 2000, 200_000]))
  return {
    id,
    isTls: random.chance(0.5),
    up: random.chance(0.5) ? bytes() : null,
    down: bytes(),
    isChunked: random.chance(0.5),
    isLast: random.chance(0.1),
  }
}

/** Cuts a connection of the line between gateway and node: rarely the oldest one, which is for control. */
function cutTunnel(line: BadLine, random: Random): void {
  const choice = random.chance(0.02) ? 0 : 0.1 + 0.9 * random.float()
  line.cutOne(choice, random.pick(['reset', 'end']))
}

export default {
  name: 'While connections are cut at random, no request runs twice, and no body that is cut short counts as whole.',
  defaultRounds,
  roundSeconds: 240,
  async round({ seed, random, signal, log }) {
    const { t, tearDown } = teardowns()
    try {
      const endsTls = random.pick<'node' | 'gateway'>(['node', 'gateway'])
      let tunnel: BadLine | undefined
      const via = async (controlPort: number) => {
        tunnel = await openLine(t, controlPort)
        return tunnel.port
      }
      const { node, port, httpsPort } = await startTunnelProcesses(t, endsTls, { via })
      assert.ok(tunnel !== undefined)
      const lines = { tunnel, plain: await openLine(t, port), tls: await openLine(t, httpsPort) }
      log(`TLS ends on the ${endsTls}`)

      /** By the ids of requests. */
      const outcomes: (Outcome | undefined)[] = []
      let sent = 0
      let left = requests
      async function run(client: TallyClient, own: Random): Promise<void> {
        while (left > 0 && !signal.aborted) {
          if (own.chance(cutShare)) {
            const way = own.pick<keyof typeof lines>(['tunnel', 'plain', 'tls'])
            if (way === 'tunnel') cutTunnel(lines.tunnel, own)
            else lines[way].cutOne(own.float(), own.pick(['reset', 'end']))
          }
          const id = sent
          sent += 1
          left -= 1
          assert.ok(id < maxTallied, 'the node was away for too long')
          outcomes[id] = await client.send(requestOf(own, id))
          if (outcomes[id] !== 'refused') continue
          left += 1
          await delay(refusedMs, undefined, { signal })
        }
      }
      signal.addEventListener('abort', () => {
        const open = Array.from({ length: sent }, (_, id) => id).filter((id) => outcomes[id] === undefined)
        log(`requests that did not end: ${open.join(', ')}`)
      })
      const clients = Array.from({ length: clientCount }, () => {
        const client = new TallyClient({ plain: lines.plain.port, tls: lines.tls.port })
        t.teardown(() => client.close())
        return client
      })
      const running = clients.map((client, at) => run(client, randomOf(seed * clientCount + at)))
      // The failure of one client ends the others.
      await Promise.all(running).finally(() => {
        left = 0
      })

      const { runs, wrong } = (await (await fetch(new URL('/tally', node.url))).json()) as Tally
      const ran = Buffer.from(runs, 'base64')
      const share = (outcome: Outcome) => outcomes.filter((one) => one === outcome).length
      log(`${share('whole')} answers, ${share('cut')} cut, ${share('refused')} refused`)
      assert.deepEqual(wrong, [], 'no body that is cut short or mixed up counts as whole')
      for (const [id, outcome] of outcomes.entries()) {
        const allowed = { whole: [1], cut: [0, 1], refused: [0] }[outcome ?? 'cut']
        assert.ok(allowed.includes(ran[id] ?? 0), `request ${id} was ${outcome} and ran ${ran[id]} times`)
      }
      // On a busy machine, each cut meets more of them.
      assert.ok(share('whole') > requests / 4, 'many requests are answered')
      assert.ok(share('cut') > requests / 100, 'the cuts hit requests')
    } finally {
      await tearDown()
    }
  },
} satisfies Fault
