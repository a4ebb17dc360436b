/**
 * The process in which modules run. It reads requests from its standard input and answers on descriptor 3, one after the
 * other and without an event loop, and ends when its input ends.
 */
import { readSync, writeSync } from 'node:fs'
import { FrameSplitter, FrameWriter } from '../protocol/frames.ts'
import { Answer, largestRequest, Request } from '../protocol/messages.ts'
import { MemoryReturn } from './memory-return.ts'
import { Requests } from './requests.ts'

const input = 0
const output = 3

// The node answers a signal for the whole group, such as Ctrl+C: it ends its sandboxes when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const requests = new Requests(Number(process.argv[2]))
const memory = new MemoryReturn()
let forgotten = false
const answers = new FrameWriter()
const frames = new FrameSplitter(largestRequest)
const chunk = Buffer.allocUnsafeSlow(64 * 1024)

answers.begin(Answer.ready)
answers.finish()
send()
for (let size = readSync(input, chunk); size > 0; size = readSync(input, chunk)) {
  frames.push(chunk.subarray(0, size), (frame) => {
    const began = performance.now()
    // Modules that were forgotten make room for the one that comes now.
    if (frame.kind === Request.load && forgotten) memory.collect()
    forgotten = frame.kind === Request.forget
    requests.handle(frame, answers)
    send()
    memory.consider(performance.now() - began)
  })
}
// The handlers of signals would keep the process alive.
process.exit(0)

function send(): void {
  const bytes = answers.take()
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(output, bytes, sent)
}
