import { invalid, NodekeepError } from '@nodekeep/plugin-sdk'

/** How the gateway forwards clients to a node: through the tunnel that the node keeps open, or to an address of its own. */
type Endpoint = { readonly kind: 'tunnel' } | { readonly kind: 'address'; readonly url: URL }

/**
 * Reads the field `endpoint` of a registration: `overlay://<node id>` is the tunnel of the node, `https://host:port` its own
 * address on the internet.
 *
 * @param nodeId the node that asks
 * @param domain the domain of the gateway, to which an address must not point back
 * @throws NodekeepError VALIDATION_ERROR, or FORBIDDEN for the tunnel of another node
 */
export function parseEndpoint(text: string, nodeId: string, domain: string): Endpoint {
  const url = URL.parse(text)
  switch (url?.protocol) {
    case 'overlay:':
      if (text === `overlay://${nodeId}`) return { kind: 'tunnel' }
      throw new NodekeepError(
        'FORBIDDEN',
        `The endpoint of a tunnel names the node that signs: overlay://${nodeId}.`,
      )
    case 'https:':
      return { kind: 'address', url: checkAddress(url, text, domain) }
    case 'http:':
      throw invalid(
        `An address on the internet needs https, or everybody between the gateway and the node could read passwords. Use https, or the node's tunnel: overlay://${nodeId}.`,
      )
    default:
      throw invalid(
        `"endpoint" must be overlay://${nodeId}, or an address such as https://node.example.net:8443.`,
      )
  }
}

function checkAddress(url: URL, text: string, domain: string): URL {
  const isOrigin = url.username === '' && url.password === '' && /^https:\/\/[^/?#\\]+\/?$/i.test(text)
  if (!isOrigin) throw invalid('The endpoint must be an address without a path: https://host:port.')
  const [host, own] = [url.hostname.replace(/\.$/, ''), domain.toLowerCase()]
  if (host === own || host.endsWith(`.${own}`)) {
    throw invalid('The endpoint must not be a name of this gateway.')
  }
  return url
}
