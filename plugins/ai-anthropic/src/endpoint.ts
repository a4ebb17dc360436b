const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/
/** Addresses of RFC 1918 and RFC 4193, names without a dot, and names that only a local network resolves. */
const localNetwork =
  /^(10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[f[cd][0-9a-f:]*\]|[^.[\]]+|.+\.(local|lan|home\.arpa|internal))$/

/**
 * Reads the address of the API. The key travels there: encrypted, or within a network of one's own.
 *
 * @param section the configuration section, which complaints name
 * @returns the address without a slash at its end
 * @throws Error when it is no address of an API, or the key must not be sent there
 */
export function apiEndpoint(baseURL: string, section: string): string {
  const key = `${section}.baseURL`
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${key} must be an address, such as "https://api.anthropic.com".`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error(
      `${key} must be an address without user, "?" and "#". The key belongs into ${section}.apiKey.`,
    )
  }
  const local = loopback.test(url.hostname) || localNetwork.test(url.hostname)
  if (url.protocol === 'http:' && !local) {
    throw new Error(
      `${key} must be an https address: over http, everyone on the way could read ${section}.apiKey.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}
