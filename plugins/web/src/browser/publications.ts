import { isLoopback } from '@nodekeep/plugin-sdk/loopback'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { request } from './request.ts'

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

/** Tells from where an address of what is published works, as the node tells it of links. */
export function publishedReach(url: string): NodeAnswers['GET /api/shares']['reach'] {
  if (isLoopback(new URL(publishedAddress(url)).hostname)) return 'machine'
  return url.startsWith('/') ? 'network' : 'everywhere'
}
