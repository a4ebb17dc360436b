import {
  type FunctionRuntime,
  NodekeepError,
  type ProgramRuntime,
  type RegistryReader,
  type WasmRuntime,
} from '@nodekeep/plugin-sdk'

/** Finds the runtimes of this node. If several can do the same, the first one is used. */
export class Runtimes {
  readonly #registry: RegistryReader<WasmRuntime>

  constructor(registry: RegistryReader<WasmRuntime>) {
    this.#registry = registry
  }

  get isEmpty(): boolean {
    return this.#registry.names().length === 0
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE if there is none, or it has no slots */
  forFunctions(): FunctionRuntime {
    for (const [name, runtime] of this.#registry) {
      if (callsFunctions(runtime)) return checkSlots(name, runtime, 'functions')
    }
    throw unavailable('has no way to call functions of modules', 'wasm-native')
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE if there is none, or it has no slots */
  forPrograms(): ProgramRuntime {
    for (const [name, runtime] of this.#registry) {
      if (runsPrograms(runtime)) return checkSlots(name, runtime, 'programs')
    }
    throw unavailable('has no way to run WASI programs', 'wasm-wasmer')
  }
}

function callsFunctions(runtime: WasmRuntime): runtime is FunctionRuntime {
  return runtime.supports.functions && runtime.exports !== undefined && runtime.call !== undefined
}

function runsPrograms(runtime: WasmRuntime): runtime is ProgramRuntime {
  return runtime.supports.programs && runtime.run !== undefined
}

/** Without a slot, every call would wait forever. */
function checkSlots<R extends WasmRuntime>(name: string, runtime: R, kind: 'functions' | 'programs'): R {
  const { [`${kind}AtOnce` as const]: slots = 1 } = runtime
  if (Number.isSafeInteger(slots) && slots >= 1) return runtime
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
