/**
 * The process in which modules run. It reads requests from its standard input and answers on descriptor 3, one after the
 * other and without an event loop, and ends when its input ends.
 */
import { readSync, writeSync } from 'node:fs'
import { type FrameReader, FrameSplitter, FrameWriter } from '../protocol/frames.ts'
import { Answer, failureCodes, largestAnswer, largestRequest, Request } from '../protocol/messages.ts'
import { callFunction } from './call-function.ts'
import { type LoadedModule, listFunctions, loadModule } from './loaded-module.ts'
import { Refusal } from './refusal.ts'

const input = 0
const output = 3

/** Garbage that is collected at once, in bytes. */
const mostGarbage = 32 * 2 ** 20
/** A request that took this long may have left much garbage, in milliseconds. */
const longMs = 1
/** Shorter requests after which the memory is checked as well. */
const checkedEvery = 16

/** Does what the node requests. */
class Requests {
  readonly #memoryBytes: number
  /** By number. A module that was refused is refused again whenever it is wanted. */
  readonly #modules = new Map<number, LoadedModule | Refusal>()

  /** @param memoryBytes limit for the memories and tables of a module together */
  constructor(memoryBytes: number) {
    this.#memoryBytes = memoryBytes
  }

  /** Handles a request, and writes its answer if it has one. */
  handle(request: FrameReader, answer: FrameWriter): void {
    try {
      if (request.kind === Request.forget) this.#modules.delete(request.uint32())
      if (request.kind === Request.load) this.#load(request)
      if (request.kind === Request.call) this.#call(request, answer)
      if (request.kind === Request.list) this.#list(request, answer)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      answer.begin(Answer.failed)
      answer.uint8(failureCodes.indexOf(error.code))
      answer.text(error.message.slice(0, 2000))
      answer.finish()
    }
  }

  #load(request: FrameReader): void {
    const number = request.uint32()
    try {
      this.#modules.set(number, loadModule(request.rest(), this.#memoryBytes))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.#modules.set(number, error)
    }
  }

  #call(request: FrameReader, answer: FrameWriter): void {
    const results = callFunction(this.#module(request), request.text(), request.numbers())
    answer.begin(Answer.done)
    answer.numbers(results)
    answer.finish()
  }

  #list(request: FrameReader, answer: FrameWriter): void {
    // A character has at most three bytes.
    const list = JSON.stringify(listFunctions(this.#module(request), largestAnswer / 4))
    answer.begin(Answer.listed)
    answer.text(list)
    answer.finish()
  }

  #module(request: FrameReader): LoadedModule {
    const loaded = this.#modules.get(request.uint32())
    if (loaded === undefined) throw new Error('A module was not loaded.')
    if (loaded instanceof Refusal) throw loaded
    return loaded
  }
}

/**
 * Returns the memory of past instances and modules to the system. V8 alone would collect it later than the memory limit
 * of the process allows, because that limit counts garbage too.
 */
class MemoryReturn {
  /** V8's collector, which `--expose-gc` makes available. */
  readonly #collect = (globalThis as { readonly gc?: () => void }).gc ?? (() => {})
  #least = process.memoryUsage.rss()
  #requests = 0

  /** @param ms how long the last request took */
  consider(ms: number): void {
    this.#requests += 1
    if (ms < longMs && this.#requests < checkedEvery) return
    this.#requests = 0
    if (process.memoryUsage.rss() - this.#least >= mostGarbage) this.collect()
  }

  collect(): void {
    this.#collect()
    this.#least = process.memoryUsage.rss()
  }
}

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
