import { isNodekeepError } from '@nodekeep/plugin-sdk'

/** Whether a call failed because nothing is at its path any more. Entries may be removed after their listing. */
export function isGone(error: unknown): boolean {
  return isNodekeepError(error) && error.code === 'NOT_FOUND'
}

/** Returns null for the error of an entry that is gone, and throws any other. */
export function nullIfGone(error: unknown): null {
  if (isGone(error)) return null
  throw error
}
