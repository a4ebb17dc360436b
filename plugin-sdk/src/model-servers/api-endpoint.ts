const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/
/** Addresses of RFC 1918 and RFC 4193, names without a dot, and names that only a local network resolves. */
const localNetwork =
  /^(10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[f[cd][0-9a-f]{2}:[0-9a-f:]*\]|[^.[\]]+|.+\.(local|lan|home\.arpa|internal))$/

/** How complaints about an address call things. */
export interface EndpointNames {
  /** The key of the configuration that has the address, such as `ai-acme.url`. */
  readonly setting: string
  /** An address as it should be. */
  readonly example: string
  /** The key of the configuration with the secret that is sent there, such as `ai-acme.apiKey`; none when none is sent. */
  readonly secret?: string
}

/**
 * Reads the address of an API, as the owner of a node configures it: http or https, without user, query and fragment. A
 * secret travels encrypted, or within this machine or a local network.
 *
 * @returns the address without a slash at its end
 * @throws Error when it is no address of an API, or a secret must not be sent there. It says what to correct, and does
 * not repeat the address, which may have a secret in it.
 * @example const endpoint = apiEndpoint(config.url, { setting: `${id}.url`, example: 'https://api.acme.example/v1' })
 */
export function apiEndpoint(address: string, { setting, example, secret }: EndpointNames): string {
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${setting} must be an address, such as "${example}".`)
  }
  // By the whole text: of a "?" or "#" with nothing behind it, the parts of the URL tell nothing.
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href)) {
    const place = secret === undefined ? '' : ` The key belongs into ${secret}.`
    throw new Error(`${setting} must be an address without user, "?" and "#".${place}`)
  }
  const local = loopback.test(url.hostname) || localNetwork.test(url.hostname)
  if (secret !== undefined && url.protocol === 'http:' && !local) {
    throw new Error(
      `${setting} must be an https address: over http, everyone on the way could read ${secret}.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}
