/**
 * Whether a host is the machine itself.
 *
 * @param hostname as in a URL. Default: that of the address that the browser uses, at which only this computer reaches the node then
 */
export function isLoopback(hostname = location.hostname): boolean {
  return /^(localhost|127\..*|\[::1\])$/.test(hostname)
}
