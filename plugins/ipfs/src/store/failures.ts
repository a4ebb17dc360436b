import { isDamage, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { isNodekeepError, messageOf } from '@nodekeep/plugin-sdk/thread-parts'
import { fullDisk } from './disk-space.ts'
import type { StoreAnswer, StoreFailure } from './protocol.ts'

/** The disk may have lost what was appended. Only a new start knows what is there. */
export class LostSync extends Error {}

/** A transaction that must end, because the disk or the database has failed. */
export class FailedTransaction extends Error {
  constructor(cause: unknown) {
    super('The transaction failed.', { cause })
  }
}

/**
 * Does the work of a request, and returns the answer, with the failure if it fails.
 *
 * @throws the cause of a failed transaction; the error if the store must be opened anew
 */
export function answerOf(id: number, work: () => void): StoreAnswer {
  try {
    work()
    return { id }
  } catch (error) {
    if (error instanceof FailedTransaction) throw error.cause
    return { id, failure: failureOf(error) }
  }
}

/** @throws the error if the store must be opened anew */
export function failureOf(error: unknown): StoreFailure {
  if (error instanceof LostSync || isDamage(error)) throw error
  const told = isDiskFull(error) ? fullDisk() : error
  if (isNodekeepError(told)) return { code: told.code, message: told.message }
  return { code: 'SERVICE_UNAVAILABLE', message: messageOf(error) }
}
