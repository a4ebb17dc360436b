import { isLoopback } from '@nodekeep/plugin-sdk/loopback'
import * as texts from './texts.ts'

/** The hosts of companies whose plugins the node has. */
const companies: Readonly<Record<string, string>> = {
  'api.anthropic.com': 'Anthropic',
  'api.openai.com': 'OpenAI',
}

/** Addresses of private networks (RFC 1918, RFC 4193), and names that exist in them only (RFC 6762, RFC 8375). */
const privateHosts =
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)[\d.]+$|^\[f[cd][\da-f:]+\]$|\.(local|home\.arpa)$/

/**
 * Tells to which computer messages to a model go. That is known, and not where the model runs: a server may pass messages on.
 *
 * @param host the one that the plugin of the provider has told
 * @returns an empty text if it has told none
 */
export function hostText(host: string | undefined): string {
  const words = texts.chat.hosts
  if (host === undefined) return ''
  if (isLoopback(host)) return words.machine
  const company = companies[host]
  if (company !== undefined) return words.company(company, host)
  return privateHosts.test(host) ? words.network(host) : words.other(host)
}
