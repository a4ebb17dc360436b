import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { concurrently } from '@nodekeep/plugin-sdk'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { memoryOf, peakWhile } from './files-transfer.ts'

/** Mebibytes that a PUT may use on top of an idle node, and a PROPFIND on top of the `/readdir` of the folder. */
const allowance = 100

const gibibytes = 5
const entries = 100_000
const chunk = Buffer.alloc(1024 * 1024, 'some bytes ')

async function work(node: FilesProcess, log: (line: string) => void): Promise<void> {
  // A node that never served a request has less code and memory loaded than an idle one.
  await put(node, 'warm', 64)
  await list(node, '')
  const idle = await memoryOf(node.pid)
  const putting = (await peakWhile(node.pid, put(node, 'large', gibibytes * 1024))) - idle
  log(`PUT of ${gibibytes} GiB: ${putting.toFixed(0)} MiB above ${idle.toFixed(0)} MiB`)
  // The index learns of the files meanwhile.
  for (let n = 0; n < 2; n += 1) await readFolder(node, '/many')
  const reading = await peakWhile(node.pid, readFolder(node, '/many'))
  const listed = list(node, 'many/')
  const listing = (await peakWhile(node.pid, listed)) - reading
  log(`PROPFIND of ${entries} entries: ${listing.toFixed(0)} MiB above ${reading.toFixed(0)} MiB of /readdir`)
  assert.equal(await listed, entries + 1)
  assert.ok(putting <= allowance, `the PUT took ${putting.toFixed(0)} MiB`)
  assert.ok(listing <= allowance, `the PROPFIND took ${listing.toFixed(0)} MiB`)
}

/** @param mebibytes of which no two are equal */
async function put(node: FilesProcess, path: string, mebibytes: number): Promise<void> {
  async function* content() {
    for (let n = 0; n < mebibytes; n += 1) {
      yield Buffer.from(`${n}`.padStart(8))
      yield chunk.subarray(8)
    }
  }
  const init = { method: 'PUT', body: content(), duplex: 'half' }
  const answer = await ask(node, path, init as unknown as RequestInit)
  assert.equal(answer.status, 201, await answer.text())
}

/** Returns the number of entries in the answer, without keeping the answer. */
async function list(node: FilesProcess, path: string): Promise<number> {
  const answer = await ask(node, path, { method: 'PROPFIND', headers: { depth: '1' } })
  assert.equal(answer.status, 207)
  const end = '</D:response>'
  let [count, rest] = [0, '']
  const decoder = new TextDecoder()
  for await (const bytes of answer.body ?? []) {
    const text = rest + decoder.decode(bytes, { stream: true })
    count += text.split(end).length - 1
    rest = text.slice(Math.max(text.lastIndexOf(end) + end.length, text.length - end.length + 1))
  }
  return count
}

async function readFolder(node: FilesProcess, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${node.session.token}` }
  const answer = await fetch(new URL(`/readdir?path=${path}`, node.url), { headers })
  for await (const _ of answer.body ?? []);
}

function ask(node: FilesProcess, path: string, init: RequestInit): Promise<Response> {
  const headers = {
    ...(init.headers as Record<string, string>),
    authorization: `Bearer ${node.session.token}`,
  }
  return fetch(new URL(`/dav/${path}`, node.url), { ...init, headers })
}

export default {
  name: 'A PUT of 5 GiB by WebDAV, and a PROPFIND of 100,000 entries, go through at most 100 MiB of memory.',
  defaultRounds: 1,
  roundSeconds: 600,
  async round({ log }) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-webdav-memory-'))
    try {
      const node = await startFiles(dataFolder, undefined, { environment: { FILES_WEBDAV: '1' } })
      try {
        const many = join(dataFolder, 'files', node.session.uuid, 'many')
        await mkdir(many, { recursive: true })
        await concurrently(Array.from({ length: entries }).keys(), 64, (n) =>
          writeFile(join(many, `${n}.txt`), ''),
        )
        await work(node, log)
      } finally {
        await node.kill()
      }
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
