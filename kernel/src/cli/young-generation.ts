import { setFlagsFromString } from 'node:v8'

/**
 * V8 gives new objects more room each time that many survive a collection, up to 32 MB, and a process that idles
 * afterwards keeps it. What a start reads and compiles survives, although the node needs no such room until it has many
 * requests to answer. So the room keeps its first size until the node is up.
 */
export function holdYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** From now on the room grows as V8 thinks fit. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
