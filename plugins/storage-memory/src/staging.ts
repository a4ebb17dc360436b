import { interruptible, NodekeepError } from '@nodekeep/plugin-sdk'
import { Blocks } from './blocks.ts'
import type { Room } from './room.ts'

/** Bytes that were received whole and have no place in the tree yet. Their room is taken. */
export interface Staged {
  readonly blocks: readonly Uint8Array[]
  readonly size: number
}

export interface StagingOptions {
  /** How many bytes will come, where that is known. */
  readonly size: number | undefined
  readonly signal: AbortSignal
  readonly room: Room
}

/**
 * Receives content whole.
 *
 * @throws NodekeepError INSUFFICIENT_STORAGE when it doesn't fit, VALIDATION_ERROR when it has another size than was
 * said, and whatever the content or the signal fails with; its room is free again then
 */
export async function stage(
  content: AsyncIterable<Uint8Array>,
  { size: announced, signal, room }: StagingOptions,
): Promise<Staged> {
  room.check(announced ?? 0)
  const blocks = new Blocks()
  let size = 0
  try {
    for await (const chunk of interruptible(content, signal)) {
      room.take(chunk.length)
      size += chunk.length
      if (announced !== undefined && size > announced) throw otherSize(announced)
      blocks.append(chunk)
    }
    if (announced !== undefined && size !== announced) throw otherSize(announced)
    return { blocks: blocks.end(), size }
  } catch (error) {
    room.give(size)
    throw error
  }
}

function otherSize(announced: number): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The content does not have the ${announced} bytes that were announced.`,
  )
}
