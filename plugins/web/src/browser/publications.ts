import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { request } from './request.ts'

/** Something that was published. */
export type Published = NodeAnswers['POST /api/ipfs/publish']

type PublishedContent = Pick<Published, 'url' | 'cid' | 'path' | 'files'>

/**
 * Publishes a file or folder, and resolves when all of it is published. The node goes on if the connection ends: the list tells how
 * that ended.
 *
 * @throws Refusal; TypeError if the node does not answer
 */
export function publish(page: PageContext, path: string): Promise<Published> {
  return request(page, 'POST /api/ipfs/publish', { body: { path } })
}

/**
 * Returns the address of what is published: that of the node for others, or the one of these pages if the node knows none. A file has its
 * name there, so that browsers show it by its type, and save it under this name.
 */
export function publishedAddress({ url, cid, path, files }: PublishedContent): string {
  const address = new URL(url ?? `/ipfs/${cid}`, location.origin)
  // A folder with one file has it, too. It means nothing there.
  if (files === 1) address.search = `filename=${encodeURIComponent(path.slice(path.lastIndexOf('/') + 1))}`
  return address.href
}
