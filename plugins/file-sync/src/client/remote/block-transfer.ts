import { createHash } from 'node:crypto'
import type { Static } from 'typebox'
import { committedUpload, contentAnswer, uploadAnswer } from '../../protocol/bodies.ts'
import { type Content, ContentBlocks } from '../../protocol/content-blocks.ts'
import type { LocalContent, RemoteFileEntry } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import { NodeFailure, type NodeRequests } from './node-requests.ts'

/** Times that the completion of an upload is repeated, because blocks on the node were gone. */
const mostCommits = 3

/** Cuts a file of the disk into blocks. */
async function blocksOf(content: LocalContent): Promise<Content> {
  const blocks = new ContentBlocks(content.size, () => createHash('sha256'))
  for await (const chunk of content.read()) blocks.add(chunk)
  return blocks.end()
}

/**
 * Uploads a file by its blocks. Those that the node has are not sent. It goes on where an earlier upload was interrupted.
 *
 * @param modified the time of modification, as RFC 3339 writes it
 */
export async function uploadBlocks(
  requests: NodeRequests,
  path: string,
  content: LocalContent,
  modified: string,
  revision: string | null,
): Promise<Static<typeof committedUpload>> {
  const { sha256, size, blocks } = await blocksOf(content)
  if (sha256 !== content.sha256) throw new SyncFailure('changed', `${path} changes while it is read.`)
  const starts: number[] = []
  let start = 0
  for (const block of blocks) {
    starts.push(start)
    start += block.size
  }
  const condition = revision === null ? { ifAbsent: true } : { ifRevision: revision }
  const body = { path, size, sha256, modified, blocks, ...condition }
  for (let commits = 1; ; commits += 1) {
    const upload = await requests.ask('/api/sync/uploads', uploadAnswer, { method: 'POST', json: body })
    for (const index of new Set(upload.missing)) {
      const [block, at] = [blocks[index], starts[index]]
      if (block === undefined || at === undefined)
        throw new SyncFailure('refused', 'The node asks for a block that the file does not have.')
      const bytes = Buffer.concat(await Array.fromAsync(content.read(at, at + block.size)))
      await requests.send(`/api/sync/uploads/${encodeURIComponent(upload.id)}/blocks/${block.sha256}`, {
        method: 'PUT',
        bytes,
      })
    }
    try {
      const url = `/api/sync/uploads/${encodeURIComponent(upload.id)}/commit`
      return await requests.ask(url, committedUpload, { method: 'POST' })
    } catch (error) {
      const lacksBlocks = error instanceof NodeFailure && error.status === 422
      if (!lacksBlocks || commits === mostCommits) throw error
    }
  }
}

/** A part of a file: of the former version on the disk, or of the node. */
interface Part {
  readonly from: 'disk' | 'node'
  /** The first byte in the file that it is read from. */
  readonly start: number
  readonly size: number
}

/** Finds the parts of a file of the node that the former version on the disk has. */
export async function partsOf(
  requests: NodeRequests,
  path: string,
  { revision, size: wanted }: RemoteFileEntry,
  former: LocalContent,
): Promise<Part[]> {
  const content = await requests.ask('/api/sync/blocks', contentAnswer, { query: { path, revision } })
  if (content.blocks.reduce((sum, { size }) => sum + size, 0) !== wanted)
    throw new SyncFailure('unavailable', `The node told blocks that are not those of ${path}.`)
  const known = new Map<string, number>()
  let at = 0
  for (const { sha256, size } of (await blocksOf(former)).blocks) {
    known.set(`${sha256} ${size}`, at)
    at += size
  }
  const parts: Part[] = []
  let start = 0
  for (const { sha256, size } of content.blocks) {
    const there = known.get(`${sha256} ${size}`)
    const last = parts.at(-1)
    if (there !== undefined) parts.push({ from: 'disk', start: there, size })
    else if (last?.from === 'node') parts[parts.length - 1] = { ...last, size: last.size + size }
    else parts.push({ from: 'node', start, size })
    start += size
  }
  return parts
}
