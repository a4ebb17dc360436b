import { type Log, NodekeepError, type StateStore } from '@nodekeep/plugin-sdk'

const stateKey = 'scopes.known'

/** Routes with the scope that each requires of an API token. */
interface ScopedRoutes {
  readonly routes: readonly { readonly scope: string | null }[]
}

/**
 * The scopes that the routes of the node require. They are also stored: the command line, which has no routes, reads them
 * from there.
 */
export class KnownScopes {
  readonly #table: ScopedRoutes
  readonly #state: StateStore
  readonly #log: Log

  constructor(table: ScopedRoutes, state: StateStore, log: Log) {
    this.#table = table
    this.#state = state
    this.#log = log
  }

  /** The scopes of the routes that are mounted now, in alphabetical order. */
  get all(): string[] {
    return [...new Set(this.#table.routes.flatMap(({ scope }) => scope ?? []))].sort()
  }

  /** Stores the scopes if they changed. It logs errors: a full disk must not prevent a start. */
  async store(): Promise<void> {
    const scopes = this.all
    try {
      const stored = await readKnownScopes(this.#state)
      if (stored?.join() !== scopes.join()) await this.#state.set(stateKey, scopes)
    } catch (err) {
      this.#log.warn({ err }, 'The scopes of API tokens could not be stored for the command line.')
    }
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
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `Unknown scope ${unknown.map((scope) => `"${scope}"`).join(', ')}. ${hint}`,
  )
}
