import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setInterval } from 'node:timers/promises'
import type { FilesProcess } from './files-process.ts'

const chunk = Buffer.alloc(1024 * 1024, 'some bytes ')
const numberBytes = 8
let sent = 0

/** Sends a file of the given size as a raw body. No two mebibytes of all files are equal. */
export async function sendFile(node: FilesProcess, path: string, mebibytes: number): Promise<void> {
  const size = mebibytes * chunk.length
  const sending = open(node, 'PUT', `/write?path=${path}`, { 'content-length': size })
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>
  for (let left = mebibytes; left > 0; left -= 1) {
    sent += 1
    sending.write(`${sent}`.padStart(numberBytes))
    if (!sending.write(chunk.subarray(numberBytes))) await once(sending, 'drain')
  }
  sending.end()
  const [answer] = await answered
  answer.resume()
  assert.equal(answer.statusCode, 200)
  await once(answer, 'end')
}

/** Receives a file, and returns its mebibytes. */
export async function receiveFile(node: FilesProcess, path: string): Promise<number> {
  const asking = open(node, 'GET', `/read?path=${path}`, {})
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 200)
  let size = 0
  answer.on('data', (bytes: Buffer) => {
    size += bytes.length
  })
  await once(answer, 'end')
  return size / chunk.length
}

/** Returns the peak of a process's own memory during some work, in mebibytes. */
export async function peakWhile(pid: number, work: Promise<unknown>): Promise<number> {
  const done = new AbortController()
  let peak = 0
  const watch = async () => {
    for await (const _ of setInterval(20, undefined, { signal: done.signal })) {
      peak = Math.max(peak, await memoryOf(pid))
    }
  }
  const watching = watch().catch((error) => {
    if (!done.signal.aborted) throw error
  })
  await work.finally(() => done.abort())
  await watching
  return peak
}

/** Mebibytes in a process's own memory (`RssAnon` of proc(5), which leaves out the pages of files). */
export async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

function open(node: FilesProcess, method: string, path: string, headers: object): ClientRequest {
  const authorization = `Bearer ${node.session.token}`
  return request(new URL(path, node.url), { method, agent: false, headers: { authorization, ...headers } })
}
