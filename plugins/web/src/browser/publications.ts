import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { isLoopback } from './loopback.ts'
import { request } from './request.ts'
import { texts } from './texts.ts'

/** Something that was published. */
export type Published = NodeAnswers['POST /api/ipfs/publish']

/**
 * Publishes a file or folder, and resolves when all of it is published. The node goes on if the connection ends: the list tells how
 * that ended.
 *
 * @throws Refusal; TypeError if the node does not answer
 */
export function publish(page: PageContext, path: string): Promise<Published> {
  return request(page, 'POST /api/ipfs/publish', { body: { path } })
}

/** Returns the address of what is published: that of the node for others, or one of the origin of these pages if the node knows none. */
export function publishedAddress(url: string): string {
  return new URL(url, location.origin).href
}

/** Returns what the person has to know about an address before they give it away; an empty text if the node knows its own for others. */
export function addressHint(url: string): string {
  if (!url.startsWith('/')) return ''
  return isLoopback() ? texts.publishing.thisMachine : texts.publishing.thisOrigin
}
