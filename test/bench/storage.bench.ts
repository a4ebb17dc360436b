import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { needsS3Server, S3, s3Server } from '../faults/fixtures/storage-server.ts'
import { proofOf, wallet } from '../sign-in/fixtures/trusting-login.ts'
import type { Bench } from './bench.ts'
import { output, transfer } from './fixtures/files-transfers.ts'
import { median } from './measure.ts'
import { residentMB, type ServerProcess, startServer } from './process.ts'

const gigabyte = 2 ** 30

const bucket = 'files'

/** A node with all files on an S3 server, and the client library alone on the same server. */
interface Stand {
  readonly authorization: string
  /** Returns the URL of a file of the user, for `read` or `write`. */
  at(endpoint: string, path: string): string
  /** Measures the client library in a process of its own. */
  client(measurement: 'up' | 'down' | 'small'): Promise<number>
  tearDown(): Promise<void>
}

async function startStand(): Promise<Stand> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
  const server = await s3Server()
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const section = JSON.stringify({ endpoint, region, bucket, accessKeyId, secretAccessKey })
  const s3 = new S3({ endpoint, region, credentials: { accessKeyId, secretAccessKey }, forcePathStyle: true })
  await s3.createBucket({ Bucket: bucket })
  s3.destroy()
  const node = await startNode(folder, 's3', section)
  const answer = await fetch(new URL('/auth/test', node.url), proofOf(wallet(1)))
  const { sessionToken } = (await answer.json()) as { sessionToken: string }
  process.env.STORAGE_S3 = section
  return {
    authorization: `Bearer ${sessionToken}`,
    at: (endpoint, path) => `${node.url.origin}/${endpoint}?path=${encodeURIComponent(path)}`,
    client: async (measurement) => Number(await output('storage-client.ts', measurement)),
    async tearDown() {
      delete process.env.STORAGE_S3
      await node.stop()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function startNode(
  folder: string,
  kind: 's3' | 'local' | 'local-alone',
  section: string,
): Promise<ServerProcess> {
  const file = join(import.meta.dirname, 'fixtures/storage-node.ts')
  return startServer(file, [join(folder, 'data'), kind], { STORAGE_S3: section })
}

function large(direction: 'up' | 'down'): Bench {
  return {
    name: `storage: 1 GiB ${direction} through a node on S3, against the client library alone`,
    unit: 'MB/s',
    better: 'more',
    goal: { ratio: 0.8 },
    missing: needsS3Server && 'radosgw',
    rounds: 3,
    async setUp() {
      const { authorization, at, client, tearDown } = await startStand()
      const move = (method: 'PUT' | 'GET') => {
        const url = at(method === 'PUT' ? 'write' : 'read', '/large')
        return transfer({ method, url, authorization, bytes: gigabyte })
      }
      if (direction === 'down') {
        await move('PUT')
        await client('up')
      }
      const rate = (seconds: number) => gigabyte / 1e6 / seconds
      return {
        ours: async () => rate(await move(direction === 'up' ? 'PUT' : 'GET')),
        baseline: async () => rate(await client(direction)),
        tearDown,
      }
    },
  }
}

const smallWrite: Bench = {
  name: 'storage: PUT /write of 1 KiB on S3, p50, against one request of the client library',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 2.5 },
  missing: needsS3Server && 'radosgw',
  async setUp() {
    const { authorization, at, client, tearDown } = await startStand()
    let written = 0
    return {
      async ours() {
        const times: number[] = []
        for (let n = 0; n < 200; n += 1) {
          const began = performance.now()
          const url = at('write', `/small/${written}`)
          const init = { method: 'PUT', headers: { authorization }, body: Buffer.alloc(1024, written) }
          const answer = await fetch(url, init)
          if (!answer.ok) throw new Error(await answer.text())
          await answer.arrayBuffer()
          times.push(performance.now() - began)
          written += 1
        }
        return median(times)
      },
      baseline: () => client('small'),
      tearDown,
    }
  },
}

/** Seconds after which V8 has given back the memory that the start needed. */
const idleSeconds = 3

const unused: Bench = {
  name: 'storage: start of a node that has storage-s3 without a mount, against one without it',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 1.1 },
  also: [
    {
      name: 'storage: idle memory of a node that has storage-s3 without a mount, against one without it',
      unit: 'MB',
      better: 'less',
      goal: { ratio: 1.05 },
    },
  ],
  missing: needsS3Server && 'radosgw',
  async setUp() {
    const server = await s3Server()
    const { endpoint, region, accessKeyId, secretAccessKey } = server
    const section = JSON.stringify({ endpoint, region, bucket, accessKeyId, secretAccessKey })
    const measured = async (kind: 'local' | 'local-alone') => {
      const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
      const began = performance.now()
      const node = await startNode(folder, kind, section)
      try {
        const startMs = performance.now() - began
        await delay(idleSeconds * 1000)
        return [startMs, await residentMB(node.pid)]
      } finally {
        await node.stop()
        await rm(folder, { recursive: true, force: true })
      }
    }
    return {
      ours: () => measured('local'),
      baseline: () => measured('local-alone'),
      tearDown: () => server.stop(),
    }
  },
}

export default [large('up'), large('down'), smallWrite, unused] satisfies Bench[]
