import { collectHeap } from '@nodekeep/plugin-sdk'

/** Bytes of buffers that may wait to be freed. With 8 MB, V8 is often faster and marks its whole heap. */
const maxWaitingBytes = 4 * 2 ** 20

let waitingBytes = 0

/**
 * Counts bytes that have been passed on, and frees their buffers from time to time by a collection of young objects, which takes a
 * millisecond however large the heap is (MEMORY.md, "Relayed bytes").
 */
export function freeBuffers(passedBytes: number): void {
  waitingBytes += passedBytes
  if (waitingBytes < maxWaitingBytes) return
  waitingBytes = 0
  collectHeap('minor')
}
