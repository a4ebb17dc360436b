import type { IncomingMessage } from 'node:http'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { limited } from '../view/incoming.ts'
import { FormParts } from './form-parts.ts'
import type { Spool } from './spool.ts'

/** Bytes of a form beside its file: boundaries, headers of the parts, the path. */
export const formOverhead = 128 * 1024

export interface UploadFormParts {
  readonly spool: Spool
  /** Bytes. */
  readonly maxFileSize: number
}

/** A form with one file, and where it is to be stored. */
export interface UploadForm {
  readonly path: string
  /** The bytes of the file. They end when the whole form has come and is right, and fail when it is not. */
  readonly content: AsyncIterable<Uint8Array>
  /** Gives up what was not read. */
  close(): Promise<void>
}

/**
 * Receives a form with the parts `path` and `file`, in any order. A file whose path is not known yet waits on the
 * disk, never in memory.
 *
 * @throws NodekeepError VALIDATION_ERROR for any other form, PAYLOAD_TOO_LARGE
 */
export async function receiveForm(
  request: IncomingMessage,
  { spool, maxFileSize }: UploadFormParts,
): Promise<UploadForm> {
  const parts = new FormParts(request, { maxFileSize, maxBytes: maxFileSize + formOverhead })
  try {
    const file = await parts.file
    if (parts.path !== null) return { path: parts.path, content: file, close: async () => parts.close() }
    const spooled = await spool(limited(file, maxFileSize))
    const close = () => spooled.discard()
    if (parts.path !== null) return { path: parts.path, content: spooled.content(), close }
    await close()
    throw new NodekeepError('VALIDATION_ERROR', 'The form has no part "path" with the path of the file.')
  } catch (error) {
    parts.close()
    throw error
  }
}
