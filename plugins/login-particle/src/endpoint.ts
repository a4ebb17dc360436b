import { isLoopback } from '@nodekeep/plugin-sdk/loopback'

/**
 * Reads the address of Particle Network's server API. The node sends the server key there, so it must be https. Plain http
 * is allowed on this machine only.
 *
 * @param key the configuration key for the error message
 * @throws Error when the server key must not be sent to the address
 */
export function particleEndpoint(baseURL: string, key: string): URL {
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${key} must be an https address, such as "https://api.particle.network/server/rpc".`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error(`${key} must not carry a user or password. Put them into projectId and serverKey.`)
  }
  // A resolver may ask the network for a name below localhost.
  const isHere = isLoopback(url.hostname) && !url.hostname.endsWith('.localhost')
  if (url.protocol === 'http:' && !isHere) {
    throw new Error(
      `${key} must be an https address: over http, anyone on the network path could read the server key.`,
    )
  }
  return url
}
