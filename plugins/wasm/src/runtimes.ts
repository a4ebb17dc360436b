import { NodekeepError, type RegistryReader, type WasmRuntime } from '@nodekeep/plugin-sdk'

/** A runtime that calls exported functions. */
export type FunctionRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'exports' | 'call'>>

/** A runtime that runs WASI programs. */
export type ProgramRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'run'>>

/** Finds the runtimes of this node. If several can do the same, the first one is used. */
export class Runtimes {
  readonly #registry: RegistryReader<WasmRuntime>

  constructor(registry: RegistryReader<WasmRuntime>) {
    this.#registry = registry
  }

  get isEmpty(): boolean {
    return this.#registry.names().length === 0
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE when there is none, or it has no place */
  forFunctions(): FunctionRuntime {
    for (const [name, runtime] of this.#registry) {
      if (callsFunctions(runtime)) return checkPlaces(name, runtime, 'functions')
    }
    throw unavailable('has no way to call functions of modules', 'wasm-native')
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE when there is none, or it has no place */
  forPrograms(): ProgramRuntime {
    for (const [name, runtime] of this.#registry) {
      if (runsPrograms(runtime)) return checkPlaces(name, runtime, 'programs')
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

/** Without a place, every call would wait for ever. */
function checkPlaces<R extends WasmRuntime>(name: string, runtime: R, kind: 'functions' | 'programs'): R {
  const { [`${kind}AtOnce` as const]: places = 1 } = runtime
  if (Number.isSafeInteger(places) && places >= 1) return runtime
  throw new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `The wasm runtime "${name}" has no place for ${kind}: its "${kind}AtOnce" must be a whole number above 0.`,
    { permanent: true },
  )
}

function unavailable(lack: string, plugin: string): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `This node ${lack}. Its owner can load a plugin for that, such as "${plugin}".`,
  )
}
