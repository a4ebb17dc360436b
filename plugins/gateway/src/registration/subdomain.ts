import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * Names that visitors or programs take for the gateway itself: its services, its people (RFC 2142), and names that programs look
 * up by themselves, such as `wpad`.
 */
const reserved: ReadonlySet<string> = new Set(
  `abuse account accounts acme admin administrator api app apps auth autoconfig autodiscover billing blog broadcasthost cdn
  control dashboard dns docs ftp gateway git help home hostmaster imap info isatap local localdomain localhost login mail
  mobile mta-sts mx nodekeep ns ns0 ns1 ns2 ns3 ns4 oauth overlay pop pop3 portal postmaster proxy register root secure
  security server shop signin sip smtp ssh ssl sso static status store support sysadmin test tunnel update updates vpn
  webmail webmaster wpad www www1 www2 www3`.split(/\s+/),
)

/**
 * Returns a name in lower case: one label of the DNS (RFC 1123, section 2.1), in ASCII. Labels with dashes at the third and fourth
 * place have a meaning of their own, such as `xn--` (RFC 5890, section 2.3.1), and could look like other names.
 *
 * @throws NodekeepError VALIDATION_ERROR if it is no such label
 */
export function parseSubdomain(text: string): string {
  const isLabel = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(text)
  if (isLabel && !text.startsWith('--', 2)) return text.toLowerCase()
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'A name has 1 to 63 letters a to z, digits and dashes. It does not begin or end with a dash, and has no dashes at its third and fourth place.',
  )
}

/**
 * Whether no node can have a name.
 *
 * @param more the names that the operator has reserved
 */
export function isReserved(label: string, more: readonly string[]): boolean {
  return reserved.has(label) || more.includes(label)
}
