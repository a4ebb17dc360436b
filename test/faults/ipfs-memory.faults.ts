import assert from 'node:assert/strict'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { memoryOf, peakWhile, receiveFile, sendFile } from './files-transfer.ts'

/** Mebibytes that a node may use on top of its idle memory. */
const allowance = 100

const large = 1024

async function ask(node: FilesProcess, path: string, init: RequestInit): Promise<Response> {
  const headers = { authorization: `Bearer ${node.session.token}`, ...init.headers }
  const answer = await fetch(new URL(path, node.url), { ...init, headers })
  assert.equal(answer.status, 200, answer.ok ? '' : await answer.text())
  return answer
}

async function publish(node: FilesProcess, path: string): Promise<NodeAnswers['POST /api/ipfs/publish']> {
  const headers = { 'content-type': 'application/json' }
  const answer = await ask(node, '/api/ipfs/publish', {
    method: 'POST',
    body: JSON.stringify({ path }),
    headers,
  })
  return (await answer.json()) as never
}

async function exportCar(node: FilesProcess, cid: string, file: string): Promise<void> {
  const { body } = await ask(node, `/ipfs/${cid}?format=car`, {})
  await pipeline(Readable.fromWeb(body as never), createWriteStream(file))
}

async function importCar(node: FilesProcess, file: string, folder: string): Promise<void> {
  await ask(node, `/api/ipfs/import?path=${folder}`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.ipld.car' },
    body: createReadStream(file) as never,
    duplex: 'half',
  } as RequestInit)
}

async function transfer(
  node: FilesProcess,
  folder: string,
  mebibytes: number,
  follow: (what: string, work: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const car = join(folder, `${mebibytes}.car`)
  const path = `/local/${mebibytes}`
  await follow('up', sendFile(node, `/blocks/${mebibytes}`, mebibytes))
  await follow('down', receiveFile(node, `/blocks/${mebibytes}`))
  // The CAR is a little larger, and has at most 1 GiB.
  await sendFile(node, path, mebibytes - 1)
  let cid = ''
  await follow(
    'published',
    publish(node, path).then((published) => {
      cid = published.cid
    }),
  )
  await follow('as a CAR', exportCar(node, cid, car))
  await follow('imported', importCar(node, car, '/local'))
}

export default {
  name: '1 GiB goes into and out of IPFS blocks, is published, exported and imported with at most 100 MiB of memory.',
  defaultRounds: 1,
  roundSeconds: 600,
  async round({ log }) {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-memory-'))
    try {
      const node = await startFiles(join(folder, 'data'), undefined, {
        environment: { FILES_IPFS: '/blocks' },
      })
      try {
        // A node that never served a request has less code and memory loaded than an idle one.
        await transfer(node, folder, 64, async (_, work) => void (await work))
        const idle = await memoryOf(node.pid)
        const peaks: [what: string, above: number][] = []
        await transfer(node, folder, large, async (what, work) => {
          const above = (await peakWhile(node.pid, work)) - idle
          log(`${what}: ${above.toFixed(0)} MiB above ${idle.toFixed(0)} MiB`)
          peaks.push([what, above])
        })
        for (const [what, above] of peaks)
          assert.ok(above <= allowance, `${what} took ${above.toFixed(0)} MiB`)
      } finally {
        await node.kill()
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
} satisfies Fault
