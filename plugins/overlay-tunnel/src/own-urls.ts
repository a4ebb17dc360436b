import { isIPv6 } from 'node:net'
import type { OwnName } from './own-name.ts'

/** The URLs that a gateway says it forwards to the node. */
interface SortedUrls {
  readonly own: string[]
  /** Those that the node does not take for its own. */
  readonly foreign: string[]
}

/**
 * Finds the URLs of the node among those that its gateway names: https by the name in the configuration, and plain HTTP at the port
 * that the gateway allocated. People sign in at the https addresses of a node, so a gateway must not make other ones up.
 *
 * @param host the gateway, as the node knows it
 */
export function sortUrls(
  { urls, port }: { readonly urls: readonly string[]; readonly port: number },
  name: OwnName | null,
  host: string,
): SortedUrls {
  const atPort = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}:${port}`)?.origin
  const isOwn = (url: string) => url === name?.origin || (port !== 0 && url === atPort)
  return { own: urls.filter(isOwn), foreign: urls.filter((url) => !isOwn(url)) }
}
