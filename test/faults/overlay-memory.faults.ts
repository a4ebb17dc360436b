import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { json } from 'node:stream/consumers'
import { teardowns } from '../overlay/fixtures/teardowns.ts'
import { nodeName, startTunnelProcesses } from '../overlay/fixtures/tunnel-processes.ts'
import type { Fault } from './fault.ts'
import { memoryOf, peakWhile } from './files-transfer.ts'

/**
 * Mebibytes that a gateway or a node may use on top of its idle memory. V8 lets 64 MiB of the buffers of sockets wait before it
 * frees them, and enlarges the young generation of a busy process by up to 32 MiB.
 */
const allowance = 128

const mebibytes = 2048
const chunk = Buffer.alloc(1024 * 1024, 'some bytes ')
const bytes = mebibytes * chunk.length

type Open = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>>,
) => ClientRequest

async function upload(open: Open): Promise<void> {
  const sending = open('POST', '/streams/up', {
    'content-type': 'application/octet-stream',
    'content-length': bytes,
  })
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>
  for (let sent = 0; sent < mebibytes; sent += 1) {
    if (!sending.write(chunk)) await once(sending, 'drain')
  }
  sending.end()
  const [answer] = await answered
  assert.deepEqual(await json(answer), { bytes })
}

async function download(open: Open): Promise<void> {
  const asking = open('GET', `/streams/down?bytes=${bytes}`, {}).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let got = 0
  for await (const piece of answer) got += piece.length
  assert.equal(got, bytes)
}

export default {
  name: 'Bodies of 2 GiB go through gateway and node in at most 128 MiB of memory each.',
  defaultRounds: 1,
  roundSeconds: 600,
  async round({ log }) {
    const { t, tearDown } = teardowns()
    try {
      const { gateway, node, port, httpsPort } = await startTunnelProcesses(t, 'node')
      const host = '127.0.0.1'
      const ways: Record<string, Open> = {
        'without TLS': (method, path, headers) =>
          request({ host, port, method, path, headers, agent: false }),
        'TLS on the node': (method, path, headers) =>
          requestTls({
            ...{ host, port: httpsPort, method, path, agent: false },
            servername: nodeName,
            headers: { host: nodeName, ...headers },
            rejectUnauthorized: false,
          }),
      }
      const idle = { gateway: await memoryOf(gateway.pid), node: await memoryOf(node.pid) }
      const peaks: { readonly what: string; readonly above: number }[] = []
      for (const [way, open] of Object.entries(ways)) {
        for (const [direction, move] of Object.entries({ up: upload, down: download })) {
          const moved = move(open)
          const found = await Promise.all([peakWhile(gateway.pid, moved), peakWhile(node.pid, moved)])
          for (const [at, side] of (['gateway', 'node'] as const).entries()) {
            const what = `2 GiB ${direction}, ${way}, ${side}`
            const above = (found[at] ?? 0) - idle[side]
            log(`${what}: ${above.toFixed(0)} MiB above ${idle[side].toFixed(0)} MiB`)
            peaks.push({ what, above })
          }
        }
      }
      for (const { what, above } of peaks) assert.ok(above <= allowance, `${what}: ${above.toFixed(0)} MiB`)
    } finally {
      await tearDown()
    }
  },
} satisfies Fault
