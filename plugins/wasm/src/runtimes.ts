import {
  type FunctionRuntime,
  NodekeepError,
  type ProgramRuntime,
  type RegistryReader,
  type WasmRuntime,
} from '@nodekeep/plugin-sdk'
import { FairQueue, type QueueBounds } from './queue/fair-queue.ts'

/** The time of a user's turn, in milliseconds. */
const turnMs = 300

type Kind = 'functions' | 'programs'

interface RuntimeInUse {
  readonly runtime: WasmRuntime
  /** Has as many slots as the runtime. */
  readonly queue: FairQueue
}

/** The runtimes of this node. If several can do the same, the first one is used. Its slots are shared by the users. */
export class Runtimes {
  readonly #registry: RegistryReader<WasmRuntime>
  readonly #bounds: QueueBounds
  /** Functions and programs do not wait for each other. */
  readonly #inUse = new Map<Kind, RuntimeInUse>()
  #closed: NodekeepError | undefined

  constructor(registry: RegistryReader<WasmRuntime>, bounds: QueueBounds) {
    this.#registry = registry
    this.#bounds = bounds
  }

  get isEmpty(): boolean {
    return this.#registry.names().length === 0
  }

  /**
   * Runs a task that calls functions, as {@link FairQueue.run}.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if there is no runtime, or it has no slots
   */
  async forFunctions<T>(
    user: string,
    signal: AbortSignal,
    task: (runtime: FunctionRuntime) => Promise<T>,
  ): Promise<T> {
    for (const [name, runtime] of this.#registry) {
      if (!callsFunctions(runtime)) continue
      return this.#queueOf('functions', name, runtime).run(user, signal, () => task(runtime))
    }
    throw unavailable('has no way to call functions of modules', 'wasm-native')
  }

  /**
   * Runs a task that runs a program, as {@link FairQueue.run}.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if there is no runtime, or it has no slots
   */
  async forPrograms<T>(
    user: string,
    signal: AbortSignal,
    task: (runtime: ProgramRuntime) => Promise<T>,
  ): Promise<T> {
    for (const [name, runtime] of this.#registry) {
      if (!runsPrograms(runtime)) continue
      return this.#queueOf('programs', name, runtime).run(user, signal, () => task(runtime))
    }
    throw unavailable('has no way to run WASI programs', 'wasm-wasmer')
  }

  /** Refuses all tasks that wait and all that still come. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    for (const { queue } of this.#inUse.values()) queue.close(reason)
  }

  #queueOf(kind: Kind, name: string, runtime: WasmRuntime): FairQueue {
    const inUse = this.#inUse.get(kind)
    if (inUse?.runtime === runtime) return inUse.queue
    // Tasks that wait for the runtime before this one go on, and learn from it that it has stopped.
    const queue = new FairQueue({ ...this.#bounds, turnMs, slots: slotsOf(name, runtime, kind) })
    if (this.#closed !== undefined) queue.close(this.#closed)
    this.#inUse.set(kind, { runtime, queue })
    return queue
  }
}

function callsFunctions(runtime: WasmRuntime): runtime is FunctionRuntime {
  return runtime.supports.functions && runtime.exports !== undefined && runtime.call !== undefined
}

function runsPrograms(runtime: WasmRuntime): runtime is ProgramRuntime {
  return runtime.supports.programs && runtime.run !== undefined
}

/** Without a slot, every call would wait forever. */
function slotsOf(name: string, runtime: WasmRuntime, kind: Kind): number {
  const { [`${kind}AtOnce` as const]: slots } = runtime
  if (slots === undefined) return Number.POSITIVE_INFINITY
  if (Number.isSafeInteger(slots) && slots >= 1) return slots
  throw new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `The wasm runtime "${name}" has no slots for ${kind}: its "${kind}AtOnce" must be a whole number above 0.`,
    { permanent: true },
  )
}

function unavailable(lack: string, plugin: string): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `This node ${lack}. Its owner can load a plugin for that, such as "${plugin}".`,
  )
}
