/**
 * The process in which one program runs, in threads of the SDK. Its main thread runs no part of the program: it reads the
 * request from its standard input, answers on descriptor 3, and ends the process when the input ends.
 */
import { writeSync } from 'node:fs'
import { FrameCollector, frameHead } from '@nodekeep/plugin-sdk/sandbox-frames'
import type { SandboxMessage } from '../protocol/messages.ts'
import { warmUp } from './program.ts'
import { runRequest } from './run-request.ts'
import { loadSdk } from './sdk.ts'
import './without-fetch.ts'

const output = 3

// The node answers a signal for the whole group, such as Ctrl+C: it ends its sandboxes when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// An ordinary exit would wait for busy threads.
process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL'))

const [, , url = '', purpose] = process.argv
const loading = loadSdk(url)
const frames = new FrameCollector()
// The input is read from the beginning, to notice a node that is gone before the SDK is loaded.
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
