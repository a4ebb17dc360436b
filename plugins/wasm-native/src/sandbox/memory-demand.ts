import { setFlagsFromString } from 'node:v8'
import type { Extent } from './limits.ts'
import type { ModuleShape } from './module-shape.ts'
import { Refusal } from './refusal.ts'

/** What an element of a table takes: V8 keeps a reference, and for functions where their code is. */
const elementBytes = 32
const pageBytes = 65_536

/** Bounds each memory and each table of the modules that are instantiated from now on. */
export function boundModules(limitBytes: number): void {
  setFlagsFromString(`--wasm-max-mem-pages=${Math.floor(limitBytes / pageBytes)}`)
  setFlagsFromString(`--wasm-max-table-size=${Math.floor(limitBytes / elementBytes)}`)
}

/**
 * Checks what a module wants before it gets any of it. V8 bounds each memory by itself, so that several have to say
 * how large they become.
 *
 * @throws Refusal
 */
export function checkMemoryDemand({ memories, tables }: ModuleShape, limitBytes: number): void {
  const elements = sum(tables, ({ initial }) => initial) * elementBytes
  const wanted = sum(memories, ({ initial }) => initial) + elements
  if (wanted > limitBytes) {
    throw new Refusal(
      'UNPROCESSABLE',
      `The module exceeds the memory limit: it begins with ${mebibytes(wanted)} MiB, and ${mebibytes(limitBytes)} MiB are allowed.`,
    )
  }
  if (memories.length < 2) return
  const most = sum(memories, ({ maximum }) => maximum ?? Number.POSITIVE_INFINITY) + elements
  if (most > limitBytes) {
    throw new Refusal(
      'UNPROCESSABLE',
      `The module exceeds the memory limit: of several memories each needs a maximum, and together with the tables they may have ${mebibytes(limitBytes)} MiB.`,
    )
  }
}

function sum(extents: readonly Extent[], of: (extent: Extent) => number): number {
  return extents.reduce((total, extent) => total + of(extent), 0)
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toLocaleString('en', { maximumFractionDigits: 1, useGrouping: false })
}
