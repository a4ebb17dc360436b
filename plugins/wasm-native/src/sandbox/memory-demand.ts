import type { Extent } from './limits.ts'
import type { ModuleShape } from './module-shape.ts'
import { Refusal } from './refusal.ts'

/** What an element of a table takes: V8 keeps a reference, and for functions where their code is. */
const elementBytes = 32
const pageBytes = 65_536
/** What a memory that can grow leaves of the limit to tables that can grow, too. */
const tablesShare = 1 / 8

/** How large each memory of a module may become, in pages of 64 KiB, and each of its tables, in elements. */
export interface MemoryBounds {
  readonly pages: number
  readonly elements: number
}

/**
 * Checks what a module wants before it gets any of it, and bounds what it may take later. V8 bounds each memory and
 * each table by itself, so that the limit for all of them is divided: each table that can grow has the same part of what
 * is the tables', and the memory has what they cannot take. Several memories have to say how large they become.
 *
 * @throws Refusal
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

/** What memories are to have before tables may grow, in bytes. */
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
