import { invalid, type Log, type StateStore } from '@nodekeep/plugin-sdk'

const stateKey = 'scopes.known'

/**
 * Stores the scopes that the routes of the node require, if they changed: the command line, which has no routes, reads them. It logs
 * errors: a full disk must not prevent a start.
 */
export async function storeKnownScopes(
  scopes: readonly string[],
  state: StateStore,
  log: Log,
): Promise<void> {
  try {
    const stored = await readKnownScopes(state)
    if (stored?.join() !== scopes.join()) await state.set(stateKey, scopes)
  } catch (err) {
    log.warn({ err }, 'The scopes of API tokens could not be stored for the command line.')
  }
}

/** Reads the scopes that the node stored when its plugins last changed; `null` before its first start. */
export async function readKnownScopes(state: StateStore): Promise<readonly string[] | null> {
  return (await state.get<string[]>(stateKey)) ?? null
}

/**
 * Refuses unknown scopes: a token with a misspelled scope would look right and open nothing.
 *
 * @throws NodekeepError VALIDATION_ERROR that names the known scopes
 */
export function refuseUnknownScopes(scopes: readonly string[], known: readonly string[]): void {
  const unknown = scopes.filter((scope) => !known.includes(scope))
  if (unknown.length === 0) return
  const hint =
    known.length === 0 ? 'No route of this node asks for a scope.' : `Known scopes: ${known.join(', ')}.`
  throw invalid(`Unknown scope ${unknown.map((scope) => `"${scope}"`).join(', ')}. ${hint}`)
}
