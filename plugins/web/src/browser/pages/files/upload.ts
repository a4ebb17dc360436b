import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { bytesText } from '../../bytes-text.ts'
import { Refusal } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { statOf } from './entry-operations.ts'
import { timeOf } from './file-time.ts'
import { nameOf } from './paths.ts'
import { ResumedUpload } from './resumed-upload.ts'
import { sendFile } from './send-file.ts'
import type { Attempt, BegunUpload, IfExists, Work } from './tasks.ts'

interface UploadBefore {
  readonly ifExists: IfExists
  readonly begun: BegunUpload | null
}

/** Bytes from which on an upload goes on where it broke off. A smaller file is sent with one request. */
const largeBytes = 1_000_000

/**
 * The upload of a file to a path. The time of the file is kept, where the storage can.
 *
 * @param before what was decided about the same upload, and the part of it that the node has
 */
export function upload(
  page: PageContext,
  path: string,
  file: File,
  maxFileSize: number,
  { ifExists, begun }: UploadBefore = { ifExists: 'ask', begun: null },
): Work {
  let resumed = file.size < largeBytes ? null : new ResumedUpload(page, file, begun)
  return {
    title: nameOf(path),
    path,
    ifExists,
    source: file,
    isQuiet: false,
    begun: () => resumed?.begun ?? null,
    async attempt(attempt) {
      if (file.size > maxFileSize) {
        return new Refusal(413, texts.files.tooLarge(bytesText(file.size), bytesText(maxFileSize)))
      }
      if (resumed !== null) {
        const answer = await resumed.attempt(attempt)
        if (answer !== 'unavailable') return answer
        resumed = null
        // The answer to a large file would come late.
        const isThere = !attempt.replaces && (await statOf(page, attempt.path)) !== null
        if (isThere) return new Refusal(412, '')
      }
      if (attempt.signal.aborted) return new Refusal(0, '')
      const refusal = await send(file, attempt)
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
  const { path, replaces, signal, progress, answered } = attempt
  const time = timeOf(file)
  const headers = {
    ...attempt.headers,
    'content-type': 'application/octet-stream',
    ...(time !== null && { 'x-oc-mtime': (time.getTime() / 1000).toFixed(3) }),
    ...(!replaces && { 'if-none-match': '*' }),
  }
  const address = `/write?path=${encodeURIComponent(path)}`
  const answer = await sendFile(file, { method: 'PUT', address, headers, signal, progress, answered })
  return answer instanceof Refusal ? answer : null
}
