import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { bytesText } from '../../bytes-text.ts'
import { Refusal } from '../../refusal.ts'
import { texts } from '../../texts.ts'
import { BlockUpload, mostInBlocks } from './block-upload.ts'
import { statOf } from './entry-operations.ts'
import { timeOf } from './file-time.ts'
import { nameOf } from './paths.ts'
import { sendFile } from './send-file.ts'
import type { Attempt, Work } from './tasks.ts'

/** Bytes from which on an upload first asks whether something is there, because its answer would come late. */
const asksFirst = 1_000_000

/**
 * The upload of a file to a path. The time of the file is kept, where the storage can. If the connection breaks, the next attempts
 * send the file in blocks, if the node can: a whole file needs no second copy on the node, and need not be read twice.
 */
export function upload(page: PageContext, path: string, file: File, maxFileSize: number): Work {
  let blocks: BlockUpload | null = null
  return {
    title: nameOf(path),
    path,
    ifExists: 'ask',
    isQuiet: false,
    async attempt(attempt) {
      if (file.size > maxFileSize) {
        return new Refusal(413, texts.files.tooLarge(bytesText(file.size), bytesText(maxFileSize)))
      }
      const isLarge = file.size >= asksFirst
      const there = isLarge ? await statOf(page, attempt.path) : null
      if (there !== null && !attempt.replaces) return new Refusal(412, '')
      if (attempt.signal.aborted) return null
      const inBlocks = await blocks?.attempt(attempt, there?.revision ?? null)
      if (inBlocks !== undefined && inBlocks !== 'unavailable') return inBlocks
      const refusal = await send(file, attempt)
      const canContinue = isLarge && file.size <= mostInBlocks && inBlocks !== 'unavailable'
      if (refusal?.status === 0 && canContinue) blocks = new BlockUpload(page, file)
      // If the plugin of the files is not running, this says so.
      if (refusal?.status === 404) await statOf(page, attempt.path)
      return refusal
    },
    async isDone(at) {
      const entry = await statOf(page, at)
      return entry?.size === file.size && Math.abs(Date.parse(entry.modified) - file.lastModified) < 2000
    },
  }
}

async function send(file: File, attempt: Attempt): Promise<Refusal | null> {
  const { path, replaces, signal, progress } = attempt
  const time = timeOf(file)
  const headers = {
    ...attempt.headers,
    'content-type': 'application/octet-stream',
    ...(time !== null && { 'x-oc-mtime': (time.getTime() / 1000).toFixed(3) }),
    ...(!replaces && { 'if-none-match': '*' }),
  }
  const address = `/write?path=${encodeURIComponent(path)}`
  const answer = await sendFile(file, { method: 'PUT', address, headers, signal, progress })
  return answer instanceof Refusal ? answer : null
}
