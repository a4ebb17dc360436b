import { setFlagsFromString } from 'node:v8'
import type { MemoryBounds } from './memory-demand.ts'

let bounds: Partial<MemoryBounds> = {}

/** Bounds the modules that are compiled, instantiated and called from now on. V8 looks at its flags each time. */
export function boundMemory({ pages, elements }: MemoryBounds): void {
  if (bounds.pages !== pages) setFlagsFromString(`--wasm-max-mem-pages=${pages}`)
  if (bounds.elements !== elements) setFlagsFromString(`--wasm-max-table-size=${elements}`)
  bounds = { pages, elements }
}
