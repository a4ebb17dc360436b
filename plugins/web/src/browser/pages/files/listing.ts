import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { request } from '../../request.ts'

/** A file or a folder. */
export type Entry = NodeAnswers['GET /api/files/list']['entries'][number]

/** Whether a folder keeps deleted entries in the trash, and replaced contents as versions. */
export type Keeps = NodeAnswers['GET /api/files/list']['keeps']

interface Listing {
  /** In no certain order. */
  readonly entries: readonly Entry[]
  /** Bytes of the largest file that the node takes. */
  readonly maxFileSize: number
  /** Whether the node keeps entries of the folder that are deleted or replaced. */
  readonly keeps: Keeps
}

/**
 * Lists a whole folder.
 *
 * @throws Refusal
 */
export async function listFolder(page: PageContext, path: string, signal: AbortSignal): Promise<Listing> {
  const entries: Entry[] = []
  let query: Record<string, string> = { path, limit: '10000' }
  for (;;) {
    const {
      entries: some,
      cursor,
      maxFileSize,
      keeps,
    } = await request(page, 'GET /api/files/list', { query, signal })
    entries.push(...some)
    if (cursor === null) return { entries, maxFileSize, keeps }
    query = { ...query, cursor }
  }
}
