import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of buffers that may wait to be freed. With 8 MB, V8 is often faster and marks its whole heap. */
const maxWaitingBytes = 4 * 2 ** 20

let waitingBytes = 0
let collect: NodeJS.GCFunction | null = null

/**
 * Counts bytes that have been passed on, and frees their buffers from time to time.
 *
 * Sockets yield all bytes in new memory. V8 counts it as growth of its heap, and left alone, it marks the whole heap 20 to 30 times in
 * 1 GiB. These buffers die young. A collection of the young generation frees them in a millisecond, however large the heap is.
 */
export function freeBuffers(passedBytes: number): void {
  waitingBytes += passedBytes
  if (waitingBytes < maxWaitingBytes) return
  waitingBytes = 0
  collect ??= collectorOfV8()
  collect({ type: 'minor' })
}

/** Only contexts that are made while V8 has this flag have the function. */
function collectorOfV8(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return gc
}
