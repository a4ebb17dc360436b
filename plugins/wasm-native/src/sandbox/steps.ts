import type { FrameReader } from '../protocol/frame-reader.ts'
import type { FrameWriter } from '../protocol/frame-writer.ts'
import { Answer, failureCodes, largestAnswer, Request } from '../protocol/messages.ts'
import { readValues, writeValues } from '../protocol/values.ts'
import { callFunction } from './call-function.ts'
import { type LoadedModule, listFunctions, loadModule } from './loaded-module.ts'
import { Refusal } from './refusal.ts'
import { StepClock } from './step-clock.ts'

/** Does what the node asks for, one step after the other. */
export class Steps {
  readonly #memoryBytes: number
  /** What became of each module: one that was refused is so whenever it is wanted. */
  readonly #modules = new Map<number, LoadedModule | Refusal>()
  readonly #clock = new StepClock()
  /** Whether the step that is being done can wait for something else than a processor. */
  #canWait = false

  /** @param memoryBytes what a module's memories and tables may take together */
  constructor(memoryBytes: number) {
    this.#memoryBytes = memoryBytes
  }

  /** Notes that the node has sent something, which `take` is about to be given. */
  wake(): void {
    this.#clock.wake()
  }

  /** Takes a step and writes its answer, if it has one. */
  take(request: FrameReader, answer: FrameWriter): void {
    this.#clock.begin()
    this.#canWait = false
    try {
      if (request.kind === Request.forget) this.#modules.delete(request.uint32())
      if (request.kind === Request.load) this.#load(request, answer)
      if (request.kind === Request.call) this.#call(request, answer)
      if (request.kind === Request.list) this.#list(request, answer)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      answer.begin(Answer.failed)
      answer.uint32(this.#clock.elapsed(this.#canWait))
      answer.uint8(failureCodes.indexOf(error.code))
      answer.text(error.message.slice(0, 2000))
      answer.finish()
    }
  }

  #load(request: FrameReader, answer: FrameWriter): void {
    const number = request.uint32()
    this.#modules.set(number, loadOrRefuse(request.rest(), this.#memoryBytes))
    answer.begin(Answer.done)
    answer.uint32(this.#clock.elapsed(this.#canWait))
    writeValues(answer, [])
    answer.finish()
  }

  #call(request: FrameReader, answer: FrameWriter): void {
    const module = this.#module(request)
    this.#canWait = module.shape.memories.some(({ shared }) => shared)
    const results = callFunction(module, request.text(), readValues(request))
    answer.begin(Answer.done)
    answer.uint32(this.#clock.elapsed(this.#canWait))
    writeValues(answer, results)
    answer.finish()
  }

  #list(request: FrameReader, answer: FrameWriter): void {
    // A character is at most three bytes.
    const list = JSON.stringify(listFunctions(this.#module(request), largestAnswer / 4))
    answer.begin(Answer.listed)
    answer.uint32(this.#clock.elapsed(this.#canWait))
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

function loadOrRefuse(bytes: Buffer, memoryBytes: number): LoadedModule | Refusal {
  try {
    return loadModule(bytes, memoryBytes)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
