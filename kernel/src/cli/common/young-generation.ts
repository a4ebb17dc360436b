import { setFlagsFromString } from 'node:v8'

/**
 * Stops V8 from enlarging the memory for new objects, its young generation, up to 32 MB (MEMORY.md, "Start").
 */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Lets V8 enlarge the young generation again, which makes a busy node faster. */
export function growYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
