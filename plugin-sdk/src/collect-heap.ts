import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let gc: NodeJS.GCFunction | null = null

function collector(): NodeJS.GCFunction {
  if (gc === null) {
    // Only contexts that are made while V8 has this flag have the function.
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc') as NodeJS.GCFunction
    setFlagsFromString('--no-expose-gc')
  }
  return gc
}

/**
 * Lets V8 collect the heap of this thread now. It blocks the thread.
 *
 * @param type `minor` collects young objects within a millisecond or so; `major` collects the whole heap, and returns free
 *   memory to the system
 */
export function collectHeap(type: 'major' | 'minor'): void {
  // Otherwise V8 keeps pages that are nearly empty.
  collector()(type === 'major' ? { type, flavor: 'last-resort' } : { type })
}

/** Returns the bytes of this thread's heap, and of the buffers beside it, that are in use after a collection. */
export function heapInUse(): number {
  collector()({ type: 'major' })
  // V8 frees the memory of buffers beside the program. The next collection waits for that.
  collectHeap('minor')
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
