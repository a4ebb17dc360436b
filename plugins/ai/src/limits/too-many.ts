import { NodekeepError } from '@nodekeep/plugin-sdk'

/** @param waitMs until it is worth trying again; told in whole seconds, at least one */
export function tooMany(what: string, waitMs: number): NodekeepError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new NodekeepError('TOO_MANY_REQUESTS', what, { headers: { 'retry-after': String(seconds) } })
}
