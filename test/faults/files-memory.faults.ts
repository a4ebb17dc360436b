import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { memoryOf, peakWhile, receiveFile, sendFile } from './files-transfer.ts'

/** Mebibytes that a node may use on top of its idle memory. */
const allowance = 100

const large = 4096
const many = Array.from({ length: 64 }, (_, index) => `/many/${index}`)

async function transfer(node: FilesProcess, log: (line: string) => void): Promise<void> {
  // A node that never served a request has less code and memory loaded than an idle one.
  await sendFile(node, '/warm', 64)
  await receiveFile(node, '/warm')
  const idle = await memoryOf(node.pid)
  const steps: [string, () => Promise<unknown>][] = [
    ['4 GiB up', () => sendFile(node, '/large', large)],
    ['4 GiB down', async () => assert.equal(await receiveFile(node, '/large'), large)],
    ['64 times 64 MiB up at once', () => Promise.all(many.map((path) => sendFile(node, path, 64)))],
    ['64 times 64 MiB down at once', () => Promise.all(many.map((path) => receiveFile(node, path)))],
  ]
  const peaks = []
  for (const [what, work] of steps) {
    const above = (await peakWhile(node.pid, work())) - idle
    log(`${what}: ${above.toFixed(0)} MiB above ${idle.toFixed(0)} MiB`)
    peaks.push({ what, above })
  }
  for (const { what, above } of peaks) assert.ok(above <= allowance, `${what} took ${above.toFixed(0)} MiB`)
}

export default {
  name: 'Files of 4 GiB, and 64 transfers at once, go through at most 100 MiB of memory.',
  defaultRounds: 1,
  roundSeconds: 600,
  async round({ log }) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-memory-'))
    try {
      const node = await startFiles(dataFolder)
      try {
        await transfer(node, log)
      } finally {
        await node.kill()
      }
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
