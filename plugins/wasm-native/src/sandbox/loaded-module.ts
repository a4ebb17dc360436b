import { type ModuleShape, readModuleShape } from '@nodekeep/plugin-sdk/wasm-binary'
import type { FunctionList } from '../protocol/messages.ts'
import { applyMemoryBounds, type MemoryBounds, memoryBounds } from './memory-bounds.ts'
import { Refusal } from './refusal.ts'
import { type CompiledModule, CompileError, Module } from './web-assembly.ts'

/** A compiled module, and what it declares. */
export interface LoadedModule {
  readonly module: CompiledModule
  readonly shape: ModuleShape
  readonly bounds: MemoryBounds
}

/**
 * Compiles a module.
 *
 * @throws Refusal when it is invalid, declares too much memory, or has an unknown form
 */
export function loadModule(bytes: Buffer, memoryBytes: number): LoadedModule {
  const shape = shapeOf(bytes)
  // Before V8 compiles, whose message about a memory that is too large sounds as if the module were invalid.
  const bounds = shape === null ? null : memoryBounds(shape, memoryBytes)
  if (bounds !== null) applyMemoryBounds(bounds)
  const module = compile(bytes)
  if (shape === null || bounds === null) {
    throw new Refusal('VALIDATION_ERROR', 'The module uses a form of the binary format that is unknown here.')
  }
  return { module, shape, bounds }
}

/**
 * Lists the exported functions whose parameters and results are all numbers.
 *
 * @param largest most characters of the list as JSON
 * @throws Refusal when the list would be longer
 */
export function listFunctions({ shape }: LoadedModule, largest: number): FunctionList {
  const list: FunctionList[number][] = []
  let size = 2
  for (const [name, type] of shape.functions) {
    if (type === null) continue
    // In JSON, a character of the name may need six characters, and a type has six.
    size += 50 + name.length * 6 + (type.parameters.length + type.results.length) * 6
    if (size > largest) {
      throw new Refusal('UNPROCESSABLE', 'The module exports more functions than can be listed.')
    }
    list.push({ name, ...type })
  }
  return list
}

function shapeOf(bytes: Buffer): ModuleShape | null {
  try {
    return readModuleShape(bytes)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function compile(bytes: Buffer): CompiledModule {
  try {
    return new Module(bytes)
  } catch (error) {
    if (!(error instanceof CompileError)) throw error
    const reason = bytes.length === 0 ? 'it is empty' : reasonOf(error)
    throw new Refusal('VALIDATION_ERROR', `The module is not valid WebAssembly: ${reason}.`)
  }
}

/** Leaves out the first bytes, which V8 shows: a file that is not a module stays secret. */
function reasonOf({ message }: Error): string {
  return message.replace(/^WebAssembly\.Module\(\): /, '').replace(/(magic word [^,]*), found .*/, '$1')
}
