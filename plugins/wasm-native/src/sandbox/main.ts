/**
 * The process in which modules run. It reads steps from its standard input and answers on its standard output, waits
 * for nothing else, and ends when the input does.
 */
import { readSync, writeSync } from 'node:fs'
import { FrameSplitter } from '../protocol/frame-splitter.ts'
import { FrameWriter } from '../protocol/frame-writer.ts'
import { Answer, largestRequest, Request } from '../protocol/messages.ts'
import { MemoryReturn } from './memory-return.ts'
import { Steps } from './steps.ts'

const input = 0
const output = 1

// A signal for the whole group, such as Ctrl+C, is the node's to answer: it ends its sandboxes when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const steps = new Steps(Number(process.argv[2]))
const memory = new MemoryReturn()
let forgotten = false
const answers = new FrameWriter()
const frames = new FrameSplitter(largestRequest)
const chunk = Buffer.allocUnsafeSlow(64 * 1024)

answers.begin(Answer.ready)
answers.finish()
send()
for (let size = readSync(input, chunk); size > 0; size = readSync(input, chunk)) {
  steps.wake()
  frames.push(chunk.subarray(0, size), (frame) => {
    const began = performance.now()
    // What was forgotten makes room for what comes now.
    if (frame.kind === Request.load && forgotten) memory.collect()
    forgotten = frame.kind === Request.forget
    steps.take(frame, answers)
    // Each for itself: from what has been answered the node knows which step runs.
    send()
    memory.consider(performance.now() - began)
  })
}
// Nothing is to run any more, whatever the signals' handlers would wait for.
process.exit(0)

function send(): void {
  const bytes = answers.take()
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(output, bytes, sent)
}
