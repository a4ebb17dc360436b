import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { memoryOf, peakWhile, sendFile } from './files-transfer.ts'

/** Milliseconds within which the node must answer other clients. */
const slowest = 500
/** Mebibytes that a flood may take on top of the idle memory. */
const allowance = 100
/** Connections that send each flood, one after the other. */
const repetitions = 5

interface Flood {
  readonly what: string
  readonly request: readonly [line: string, body?: string]
  readonly count: number
  /** Whether the client closes the connection as soon as everything is sent. */
  readonly leaves: boolean
}

const floods: readonly Flood[] = [
  {
    what: '20,000 GET /readdir of a folder with 300 entries',
    request: ['GET /readdir?path=/folder'],
    count: 20_000,
    leaves: false,
  },
  {
    what: '5,000 GET /read of a file of 20 MB',
    request: ['GET /read?path=/large'],
    count: 5000,
    leaves: false,
  },
  { what: '64 GET /read of that file', request: ['GET /read?path=/large'], count: 64, leaves: false },
  {
    what: '10,000 PUT /write of one byte, and the client leaves',
    request: ['PUT /write?path=/byte', 'a'],
    count: 10_000,
    leaves: true,
  },
]

/** Sends a flood on one connection and reads no answer. Resolves when the node closes it, at the latest after 3 s. */
async function send(node: FilesProcess, { request: [line, body = ''], count, leaves }: Flood): Promise<void> {
  const head = `${line} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${node.session.token}\r\n`
  const length = body === '' ? '' : `content-length: ${body.length}\r\n`
  const socket = connect(Number(node.url.port), node.url.hostname)
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.pause()
  socket.write(`${head}${length}\r\n${body}`.repeat(count), () => {
    if (leaves) socket.destroy()
  })
  await Promise.race([closed, delay(3000)])
  socket.destroy()
}

/** Asks for `/health` again and again until some work is done, and returns the milliseconds of the slowest answer. */
async function slowestHealth(node: FilesProcess, work: Promise<unknown>): Promise<number> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  let slow = 0
  while (!isDone) {
    const begun = performance.now()
    const answer = await fetch(new URL('/health', node.url))
    await answer.arrayBuffer()
    assert.equal(answer.status, 200)
    slow = Math.max(slow, performance.now() - begun)
    await delay(5)
  }
  await done
  return slow
}

async function descriptorsOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length
}

/** Checks that the node would serve a request of a flood. Refused requests would cost it little. */
async function checkServed(node: FilesProcess, { request: [line, body] }: Flood): Promise<void> {
  const [method = '', path = ''] = line.split(' ')
  const headers = { authorization: `Bearer ${node.session.token}` }
  const answer = await fetch(new URL(path, node.url), { method, headers, ...(body && { body }) })
  assert.equal(answer.status, 200, line)
  await answer.arrayBuffer()
}

async function endure(node: FilesProcess, flood: Flood, log: (line: string) => void): Promise<void> {
  await checkServed(node, flood)
  const memory = await memoryOf(node.pid)
  const descriptors = await descriptorsOf(node.pid)
  let slow = 0
  const work = async () => {
    for (let i = 0; i < repetitions; i += 1)
      slow = Math.max(slow, await slowestHealth(node, send(node, flood)))
    // The work that a flood has left behind would delay these answers.
    slow = Math.max(slow, await slowestHealth(node, delay(1000)))
  }
  const peak = (await peakWhile(node.pid, work())) - memory
  const left = (await memoryOf(node.pid)) - memory
  const open = (await descriptorsOf(node.pid)) - descriptors
  const figures = `${flood.what}: /health in at most ${slow.toFixed(0)} ms, ${peak.toFixed(0)} MiB at the peak, ${left.toFixed(0)} MiB after it, ${open} more descriptors`
  log(figures)
  assert.ok(slow <= slowest && peak <= allowance && open <= 2, figures)
}

export default {
  name: 'Floods of pipelined requests neither delay other clients nor take memory or descriptors.',
  defaultRounds: 1,
  async round({ log }) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-floods-'))
    try {
      const node = await startFiles(dataFolder)
      try {
        await sendFile(node, '/large', 20)
        for (let i = 0; i < 300; i += 1) await sendFile(node, `/folder/${i}`, 0)
        await slowestHealth(node, delay(500))
        for (const flood of floods) await endure(node, flood, log)
      } finally {
        await node.kill()
      }
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
