import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: NodeJS.GCFunction | null = null

/**
 * Lets V8 collect the heap of this thread now. It blocks the thread.
 *
 * @param type `minor` collects young objects within a millisecond or so; `major` collects the whole heap, and returns free
 *   memory to the system
 */
export function collectHeap(type: 'major' | 'minor'): void {
  if (collect === null) {
    // Only contexts that are made while V8 has this flag have the function.
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as NodeJS.GCFunction
    setFlagsFromString('--no-expose-gc')
  }
  // Otherwise V8 keeps pages that are nearly empty.
  collect(type === 'major' ? { type, flavor: 'last-resort' } : { type })
}
