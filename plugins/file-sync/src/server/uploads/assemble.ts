import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { isNodekeepError, NodekeepError, type UserFiles } from '@nodekeep/plugin-sdk'
import type { Block } from '../../protocol/content-blocks.ts'
import type { BlockSource } from './block-sources.ts'

const chunkBytes = 256 * 1024

/** Blocks that follow one another in one source. */
interface Run {
  readonly source: BlockSource
  size: number
}

/** The error of an upload whose content is not the announced one. */
export const otherContent = new NodekeepError(
  'UNPROCESSABLE',
  'The content does not have the SHA-256 of the upload. Begin the upload again.',
)

/**
 * Yields the bytes of a file from the sources of its blocks. It throws before the end if they do not have the SHA-256 of the whole
 * file, so that the file is not stored.
 *
 * @throws NodekeepError UNPROCESSABLE, which is {@link otherContent} for another content
 */
export async function* assemble(
  files: UserFiles,
  { sha256, blocks }: { readonly sha256: string; readonly blocks: readonly Block[] },
  sources: ReadonlyMap<string, BlockSource>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256')
  for (const run of runsOf(blocks, sources)) {
    for await (const bytes of await bytesOf(files, run, signal)) {
      hash.update(bytes)
      yield bytes
    }
  }
  if (hash.digest('hex') !== sha256) throw otherContent
}

/** Joins blocks that lie one after the other in a file, so that they are read at once. */
function runsOf(blocks: readonly Block[], sources: ReadonlyMap<string, BlockSource>): Run[] {
  const runs: Run[] = []
  for (const { sha256, size } of blocks) {
    const source = sources.get(sha256)
    if (source === undefined) throw missingBlocks()
    const last = runs.at(-1)
    if (last !== undefined && isContinued(last, source)) last.size += size
    else runs.push({ source, size })
  }
  return runs
}

function isContinued({ source: last, size }: Run, source: BlockSource): boolean {
  if ('staged' in last || 'staged' in source) return false
  return last.path === source.path && last.start + size === source.start
}

async function bytesOf(
  files: UserFiles,
  { source, size }: Run,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if ('staged' in source) return createReadStream(source.staged, { highWaterMark: chunkBytes })
  const { path, revision, start } = source
  const reading = await files.read(path, { start, end: start + size - 1, signal }).catch((error) => {
    const changed: readonly string[] = ['NOT_FOUND', 'RANGE_NOT_SATISFIABLE', 'VALIDATION_ERROR']
    throw isNodekeepError(error) && changed.includes(error.code) ? missingBlocks() : error
  })
  if (reading.entry.revision === revision) return reading.content
  for await (const _chunk of reading.content) break
  throw missingBlocks()
}

/** The error of an upload that lacks blocks. */
export function missingBlocks(): NodekeepError {
  return new NodekeepError(
    'UNPROCESSABLE',
    'Blocks of the upload are missing. Ask for the upload, and send those that it names.',
  )
}
