import type { WasmLimits } from '@nodekeep/plugin-sdk'
import type { RunRequest } from '../protocol/messages.ts'

/** What the SDK takes for a program beside the program's own memory: threads, above all. */
const ownBytes = 128 * 2 ** 20
/** How often what is sent is in memory for a moment: as it came, in the SDK, compiled. */
const copies = 4
/** Bytes of a path in an answer, at most, with what is around it. */
const pathBytes = 8192

/** Bytes that a sandbox may grow by for a run. */
export function allowedGrowth(
  { folders, limits }: RunRequest,
  body: readonly Uint8Array[],
  { memoryBytes, outputBytes }: WasmLimits,
): number {
  const sent = body.reduce((sum, { length }) => sum + length, 0)
  const stored = folders.some(({ writable }) => writable) ? limits.folderBytes : 0
  return memoryBytes + ownBytes + copies * (sent + stored + outputBytes)
}

/** Bytes of what a sandbox can have to say of a run. */
export function largestAnswer({ folders, limits }: RunRequest): number {
  const stored = folders.some(({ writable }) => writable)
    ? limits.folderBytes + limits.folderEntries * pathBytes
    : 0
  // All paths that were there may be gone.
  return pathBytes + limits.outputBytes + stored * 2
}
