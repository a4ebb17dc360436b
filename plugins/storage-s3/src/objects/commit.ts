import { type FlatObject, NodekeepError } from '@nodekeep/plugin-sdk'
import { changeError, isConditionFailed } from '../server/failures.ts'

export interface CommitOptions {
  /** The revision that the object will have. */
  readonly revision: string
  /** Returns the object that is at the key now. */
  readonly head: () => Promise<FlatObject | null>
  readonly signal: AbortSignal
}

/**
 * Runs the request that makes an object visible. If the server did it, but its answer was lost, the library sends the request
 * again, and the second one may fail. So a failure counts only if the object is not there.
 */
export async function commit(
  { head, revision, signal }: CommitOptions,
  request: () => Promise<unknown>,
): Promise<void> {
  try {
    await request()
  } catch (error) {
    if (signal.aborted) throw changeError(error)
    const found = await head().catch((cause: unknown) => {
      throw new DOMException(`The server does not say whether it is done: ${error}, ${cause}`, 'TimeoutError')
    })
    if (found?.revision === revision) return
    if (isConditionFailed(error)) {
      throw new NodekeepError(
        'PRECONDITION_FAILED',
        'The file was changed or made by another program at the same moment. Read it again, then repeat the change.',
        { cause: error },
      )
    }
    throw changeError(error)
  }
}
