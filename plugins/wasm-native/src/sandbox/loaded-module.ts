import type { FunctionList } from '../protocol/messages.ts'
import { boundMemory } from './bound-memory.ts'
import { type MemoryBounds, memoryBounds } from './memory-demand.ts'
import { type ModuleShape, readModuleShape } from './module-shape.ts'
import { Refusal } from './refusal.ts'
import { type CompiledModule, CompileError, Module } from './web-assembly.ts'

/** A module that was compiled, and what it says of itself. */
export interface LoadedModule {
  readonly module: CompiledModule
  readonly shape: ModuleShape
  readonly bounds: MemoryBounds
}

/**
 * Compiles a module.
 *
 * @throws Refusal when it is none, wants too much memory, or is in a form that is unknown
 */
export function loadModule(bytes: Buffer, memoryBytes: number): LoadedModule {
  const shape = shapeOf(bytes)
  // First, for what V8 has to say of a memory that is too large sounds as if the module were no good.
  const bounds = shape === null ? null : memoryBounds(shape, memoryBytes)
  if (bounds !== null) boundMemory(bounds)
  const module = compile(bytes)
  if (shape === null || bounds === null) {
    throw new Refusal('VALIDATION_ERROR', 'The module uses a form of the binary format that is unknown here.')
  }
  return { module, shape, bounds }
}

/**
 * Lists the exported functions that take and give numbers only.
 *
 * @param largest characters of the list as JSON, at most
 * @throws Refusal when it would be longer
 */
export function listFunctions({ shape }: LoadedModule, largest: number): FunctionList {
  const list: FunctionList[number][] = []
  let size = 2
  for (const [name, type] of shape.functions) {
    if (type === null) continue
    // A character of the name may need six as JSON, and a type has six.
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

/** Without the bytes that V8 found in place of the first ones: of other files than modules nothing is told. */
function reasonOf({ message }: Error): string {
  return message.replace(/^WebAssembly\.Module\(\): /, '').replace(/(magic word [^,]*), found .*/, '$1')
}
