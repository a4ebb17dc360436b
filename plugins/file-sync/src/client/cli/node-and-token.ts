import { commandName } from '../command-name.ts'
import { SyncFailure } from '../sync-failure.ts'
import { nodeUrl } from './node-url.ts'
import type { readSettings } from './settings.ts'

/**
 * Returns the address of a node, and the token that is stored for it.
 *
 * @throws SyncFailure `stop` if the address is none, or if nobody has logged in there
 */
export function nodeAndToken(
  node: string,
  { tokens }: Pick<Awaited<ReturnType<typeof readSettings>>, 'tokens'>,
): { readonly url: URL; readonly token: string } {
  const url = nodeUrl(node)
  const token = process.env.NODEKEEP_SYNC_TOKEN?.trim() || tokens[url.origin]
  if (token === undefined)
    throw new SyncFailure('stop', `Log in first: ${commandName()} login --node ${url.origin}`)
  return { url, token }
}
