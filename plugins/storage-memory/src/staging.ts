import { interruptible, NodekeepError } from '@nodekeep/plugin-sdk'
import { Blocks } from './blocks.ts'
import type { FreeSpace } from './free-space.ts'

/** Complete content that is not in the tree yet. Its bytes are reserved. */
export interface Staged {
  readonly blocks: readonly Uint8Array[]
  readonly size: number
}

export interface StagingOptions {
  /** The announced number of bytes. */
  readonly size: number | undefined
  readonly signal: AbortSignal
  readonly freeSpace: FreeSpace
}

/**
 * Receives all of a content. If that fails, the reserved bytes are free again.
 *
 * @throws NodekeepError INSUFFICIENT_STORAGE if it does not fit, VALIDATION_ERROR if its size is not the announced one;
 * the error of the content; the reason of the signal
 */
export async function stage(
  content: AsyncIterable<Uint8Array>,
  { size: announced, signal, freeSpace }: StagingOptions,
): Promise<Staged> {
  freeSpace.check(announced ?? 0)
  const blocks = new Blocks()
  let size = 0
  try {
    for await (const chunk of interruptible(content, signal)) {
      freeSpace.reserve(chunk.length)
      size += chunk.length
      if (announced !== undefined && size > announced) throw otherSize(announced)
      blocks.append(chunk)
    }
    if (announced !== undefined && size !== announced) throw otherSize(announced)
    return { blocks: blocks.end(), size }
  } catch (error) {
    freeSpace.release(size)
    throw error
  }
}

function otherSize(announced: number): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The content does not have the ${announced} bytes that were announced.`,
  )
}
