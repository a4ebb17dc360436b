import type { FrameReader, FrameWriter } from '../protocol/frames.ts'
import { Answer, failureCodes, largestAnswer, Request } from '../protocol/messages.ts'
import { callFunction } from './call-function.ts'
import { type LoadedModule, listFunctions, loadModule } from './loaded-module.ts'
import { Refusal } from './refusal.ts'

/** Does what the node requests. */
export class Requests {
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
