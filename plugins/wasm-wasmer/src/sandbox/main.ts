/**
 * The process in which one program runs, in threads of the SDK. Its own thread never runs any of it: it reads from its
 * standard input what to run, answers on descriptor 3, and ends when the input does.
 */
import { writeSync } from 'node:fs'
import { FrameCollector, frameHead } from '../protocol/frame.ts'
import type { SandboxMessage } from '../protocol/messages.ts'
import { runRequest } from './run-request.ts'
import { loadSdk } from './sdk.ts'
import { warmUp } from './warm-up.ts'

const output = 3

// A signal for the whole group, such as Ctrl+C, is the node's to answer: it ends its sandboxes when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// Threads that are busy would be waited for.
process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL'))

const [, , url = '', purpose] = process.argv
const loading = loadSdk(url)
const frames = new FrameCollector()
// Read from the beginning: a node that is gone before this is ready is noticed only so.
process.stdin.on('data', (chunk: Buffer) => {
  for (const frame of frames.push(chunk)) void loading.then((sdk) => runRequest(sdk, frame, send))
})
const sdk = await loading
if (purpose === 'spare') await warmUp(sdk)
send({ kind: 'ready' })

function send(message: SandboxMessage, body: readonly Uint8Array[] = []): void {
  const bodyBytes = body.reduce((sum, { length }) => sum + length, 0)
  for (const part of [frameHead(message, bodyBytes), ...body]) {
    for (let sent = 0; sent < part.length; ) sent += writeSync(output, part, sent)
  }
}
