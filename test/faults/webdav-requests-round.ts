import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { createTestNode } from '@nodekeep/kernel/testing'
import type { Round } from './fault.ts'
import { type OddRequest, oddRequest } from './webdav-requests.ts'

/** Sends random requests to `/dav`, several at once. No answer has a status from 500, and the log has no error. */
export async function webdavRequestsRound({ random, signal, log }: Round, count: number): Promise<void> {
  const errors: string[] = []
  const node = await createTestNode({
    folder: import.meta.dirname,
    config: {
      plugins: { files: true, 'storage-memory': true, webdav: true },
      storage: { mounts: { '/': 'memory' } },
      webdav: { locksPerUser: 10_000 },
    },
    logLevel: 'error',
    onLog: (line) => errors.push(line),
  })
  try {
    const user = await node.signIn()
    const made = await user.fetch('/api/account/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'odd', scopes: ['webdav'] }),
    })
    const { token } = (await made.json()) as { token: string }
    const authorization = `Basic ${btoa(`odd:${token}`)}`
    for (let sent = 0; sent < count && !signal.aborted; sent += 4) {
      const requests = Array.from({ length: 4 }, () => oddRequest(random, node.url.origin))
      const statuses = await Promise.all(
        requests.map((request) => statusOf(node.url, authorization, request)),
      )
      for (const [index, status] of statuses.entries()) {
        if (status < 500 && errors.length === 0) continue
        for (const { body, ...request } of requests)
          log(`${JSON.stringify(request)} ${body.toString('latin1')}`)
        assert.fail(`${JSON.stringify(requests[index])} was answered with ${status}. ${errors.join('\n')}`)
      }
    }
    assert.equal((await node.fetch('/health')).status, 200)
    assert.deepEqual(errors, [])
  } finally {
    await node.stop()
  }
}

/** Sends a request that no HTTP client would send, and returns the status of its answer. */
function statusOf(
  url: URL,
  authorization: string,
  { method, target, headers, body }: OddRequest,
): Promise<number> {
  const all = {
    host: url.host,
    authorization,
    connection: 'close',
    ...(body.length > 0 && { 'content-length': `${body.length}` }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(url.port), url.hostname)
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      // An interim answer comes before the final one.
      const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
      const status = statuses.find((each) => each !== 100)
      if (status === undefined) reject(new Error(`${method} ${target} got no answer: ${answer}`))
      else resolve(status)
    })
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)
    socket.write(body)
  })
}
