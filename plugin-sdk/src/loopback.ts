const loopback = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/

/**
 * Whether a host of a URL is the computer itself: `localhost` and names below it (RFC 6761, section 6.3), and loopback addresses
 * (RFC 1122, section 3.2.1.3; RFC 4291, sections 2.5.3 and 2.5.5.2).
 *
 * @param hostname in the one spelling that `URL.hostname` has
 */
export function isLoopback(hostname: string): boolean {
  return loopback.test(hostname)
}
