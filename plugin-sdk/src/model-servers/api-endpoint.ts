import { isLoopback } from '../loopback.ts'

/** Addresses of RFC 1918 and RFC 4193, names without a dot, and names that resolve only in a local network. */
const localNetwork =
  /^(10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[f[cd][0-9a-f]{2}:[0-9a-f:]*\]|[^.[\]]+|.+\.(local|lan|home\.arpa|internal))$/

/** Names for the error messages of `apiEndpoint`. */
export interface EndpointNames {
  /** The configuration key of the address, such as `ai-acme.url`. */
  readonly setting: string
  /** An example of a valid address. */
  readonly example: string
  /** The configuration key of the secret that is sent there, such as `ai-acme.apiKey`. Leave it out if there is none. */
  readonly secret?: string
  /** The things that others could read over http, if that is not the secret itself. */
  readonly exposed?: string
}

/**
 * Checks the configured address of an API: http or https, without user, query and fragment. A secret may be sent over
 * https, or over http within this machine or a local network.
 *
 * @returns the address without a slash at its end
 * @throws Error if the address is not valid, or a secret must not be sent there. The message tells what to correct. It does
 * not repeat the address, which may contain a secret.
 * @example const endpoint = apiEndpoint(config.url, { setting: `${id}.url`, example: 'https://api.acme.example/v1' })
 */
export function apiEndpoint(
  address: string,
  { setting, example, secret, exposed = secret }: EndpointNames,
): string {
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${setting} must be an address, such as "${example}".`)
  }
  // The whole text is tested, because a URL has no search or hash for a "?" or "#" at its end.
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href)) {
    const hint = secret === undefined ? '' : ` The key belongs in ${secret}.`
    throw new Error(`${setting} must be an address without user, "?" and "#".${hint}`)
  }
  const local = isLoopback(url.hostname) || localNetwork.test(url.hostname)
  if (secret !== undefined && url.protocol === 'http:' && !local) {
    throw new Error(
      `${setting} must be an https address: over http, anyone on the network path could read ${exposed}.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}
