import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * Returns the error of a source whose metadata `tuf-js` refuses. Only the texts of its errors tell them apart: it puts the errors of
 * snapshots and targets into the text of a general one.
 */
export function trustProblem(error: unknown): NodekeepError {
  const text = String(error)
  const message = /expired/.test(text)
    ? 'What the source of updates offers has expired: its publisher does not renew it, or somebody holds newer versions back. If the clock of this machine is wrong, set it.'
    : /less than current version|Missing file/.test(text)
      ? 'The source of updates offers an older state than this node has seen, so nothing of it is used. Try again later.'
      : 'What the source of updates offers is not signed by its publisher, or was changed, so nothing of it is used. Check update-tuf.url, or try again later.'
  return new NodekeepError('UPSTREAM_ERROR', message, { cause: error })
}
