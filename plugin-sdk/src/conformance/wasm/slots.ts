import type { FunctionRuntime, ProgramRuntime } from '../../contracts/wasm.ts'

/** Returns the runtime with calls that wait while all its slots are taken, as they wait in the `wasm` feature. */
export function functionsWithinSlots(runtime: FunctionRuntime): FunctionRuntime {
  const { supports, functionsAtOnce } = runtime
  const slots = new Slots(functionsAtOnce)
  return {
    supports,
    ...(functionsAtOnce !== undefined && { functionsAtOnce }),
    exports: (...given) => slots.use(() => runtime.exports(...given)),
    call: (...given) => slots.use(() => runtime.call(...given)),
  }
}

/** Returns the runtime with programs that wait while all its slots are taken, as they wait in the `wasm` feature. */
export function programsWithinSlots(runtime: ProgramRuntime): ProgramRuntime {
  const { supports, programsAtOnce } = runtime
  const slots = new Slots(programsAtOnce)
  return {
    supports,
    ...(programsAtOnce !== undefined && { programsAtOnce }),
    run: (...given) => slots.use(() => runtime.run(...given)),
  }
}

class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(free = Number.POSITIVE_INFINITY) {
    this.#free = free
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
