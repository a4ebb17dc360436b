import { NodekeepError, type RegistryReader, type WasmRuntime } from '@nodekeep/plugin-sdk'

/** A runtime that calls exported functions. */
export type FunctionRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'exports' | 'call'>>

/** A runtime that runs WASI programs. */
export type ProgramRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'run'>>

/** Finds what is there to run WebAssembly. Of several that can do the same, the first counts. */
export class Runtimes {
  readonly #registry: RegistryReader<WasmRuntime>

  constructor(registry: RegistryReader<WasmRuntime>) {
    this.#registry = registry
  }

  get isEmpty(): boolean {
    return this.#registry.names().length === 0
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE */
  forFunctions(): FunctionRuntime {
    for (const [, runtime] of this.#registry) if (callsFunctions(runtime)) return runtime
    throw unavailable('nothing that calls functions of modules', 'wasm-native')
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE */
  forPrograms(): ProgramRuntime {
    for (const [name, runtime] of this.#registry) {
      if (!runsPrograms(runtime)) continue
      const { programsAtOnce = 1 } = runtime
      if (!Number.isSafeInteger(programsAtOnce) || programsAtOnce < 1) throw withoutPlaces(name)
      return runtime
    }
    throw unavailable('nothing that runs WASI programs', 'wasm-wasmer')
  }
}

function callsFunctions(runtime: WasmRuntime): runtime is FunctionRuntime {
  return runtime.supports.functions && runtime.exports !== undefined && runtime.call !== undefined
}

function runsPrograms(runtime: WasmRuntime): runtime is ProgramRuntime {
  return runtime.supports.programs && runtime.run !== undefined
}

/** Everything would wait for a place in vain. */
function withoutPlaces(name: string): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `The wasm runtime "${name}" has no place for programs: its "programsAtOnce" has to be a whole number above 0.`,
    { permanent: true },
  )
}

function unavailable(lack: string, plugin: string): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `This node has ${lack}. Its owner can load a plugin for that, such as "${plugin}".`,
  )
}
