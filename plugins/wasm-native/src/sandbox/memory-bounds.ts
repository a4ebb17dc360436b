import { setFlagsFromString } from 'node:v8'
import type { Extent, ModuleShape } from '@nodekeep/plugin-sdk/wasm-binary'
import { Refusal } from './refusal.ts'

/** Memory of a table's element: V8 keeps a reference, and for functions the address of their code. */
const elementBytes = 32
const pageBytes = 65_536
/** Share of the limit that a memory that can grow leaves to tables that can grow. */
const tablesShare = 1 / 8

/** Largest size of each memory of a module, in pages of 64 KiB, and of each of its tables, in elements. */
export interface MemoryBounds {
  readonly pages: number
  readonly elements: number
}

let applied: Partial<MemoryBounds> = {}

/** Bounds the modules that are compiled, instantiated and called from now on. V8 reads its flags each time. */
export function applyMemoryBounds({ pages, elements }: MemoryBounds): void {
  if (applied.pages !== pages) setFlagsFromString(`--wasm-max-mem-pages=${pages}`)
  if (applied.elements !== elements) setFlagsFromString(`--wasm-max-table-size=${elements}`)
  applied = { pages, elements }
}

/**
 * Checks what memory a module declares, before it gets any, and divides the limit. V8 bounds each memory and each table
 * by itself. All tables that can grow get the same part. The memory gets what the tables cannot take. Several memories
 * must declare their maxima.
 *
 * @throws Refusal when the module could exceed the limit
 */
export function memoryBounds({ memories, tables }: ModuleShape, limitBytes: number): MemoryBounds {
  const atFirst =
    sum(memories, ({ initial }) => initial) + sum(tables, ({ initial }) => initial) * elementBytes
  if (atFirst > limitBytes) {
    throw exceeds(`it begins with ${mebibytes(atFirst)} MiB, and ${mebibytes(limitBytes)} MiB are allowed`)
  }
  const left = Math.max(0, limitBytes - expected(memories, limitBytes))
  const part = Math.floor(left / elementBytes / Math.max(1, tables.length))
  const elements = tables.reduce((most, { initial }) => Math.max(most, initial), part)
  const mostOf = ({ maximum }: Extent) => Math.min(maximum ?? elements, elements)
  const room = limitBytes - sum(tables, mostOf) * elementBytes
  const needed = memories.length === 1 ? sum(memories, ({ initial }) => initial) : sum(memories, largest)
  if (needed > room) {
    throw exceeds(
      `its memories and tables may have ${mebibytes(limitBytes)} MiB together, and could grow beyond that. Of several, each needs a maximum`,
    )
  }
  return { pages: Math.floor(room / pageBytes), elements }
}

/** Bytes that the memories are to have before tables may grow. */
function expected(memories: readonly Extent[], limitBytes: number): number {
  const [only] = memories
  if (only === undefined || memories.length > 1) return sum(memories, largest)
  return Math.min(largest(only), Math.max(only.initial, limitBytes * (1 - tablesShare)))
}

function largest({ maximum }: Extent): number {
  return maximum ?? Number.POSITIVE_INFINITY
}

function sum(extents: readonly Extent[], of: (extent: Extent) => number): number {
  return extents.reduce((total, extent) => total + of(extent), 0)
}

function exceeds(how: string): Refusal {
  return new Refusal('UNPROCESSABLE', `The module exceeds the memory limit: ${how}.`)
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toLocaleString('en', { maximumFractionDigits: 1, useGrouping: false })
}
