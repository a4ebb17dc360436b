import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted, Refusal } from '../../refusal.ts'
import { request } from '../../request.ts'
import { timeOf } from './file-time.ts'
import type { Attempt } from './tasks.ts'

/** Bytes of a block. The page hashes one without a pause. */
const blockSize = 2 ** 21

/** Bytes of the largest file that is sent in blocks: by default, the node keeps no more of unfinished uploads. */
export const mostInBlocks = 2 ** 32

/** Routes of the plugin `file-sync`. */
const uploads = '/api/sync/uploads'

interface Content {
  readonly sha256: string
  readonly blocks: readonly { readonly sha256: string; readonly size: number }[]
}

/** An upload in blocks, as the plugin `file-sync` takes it. Each attempt sends only the blocks that the node lacks. */
export class BlockUpload {
  readonly #page: PageContext
  readonly #file: File
  #content: Content | null = null

  constructor(page: PageContext, file: File) {
    this.#page = page
    this.#file = file
  }

  /**
   * Like `attempt` of a work.
   *
   * @param revision that of the file that is replaced; `null` if nothing may be there
   * @returns `unavailable` if the node does not take the file in blocks
   */
  async attempt(
    { path, headers, signal, progress }: Attempt,
    revision: string | null,
  ): Promise<Refusal | null | 'unavailable'> {
    let upload = ''
    try {
      this.#content ??= await contentOf(this.#file, signal)
      const { blocks } = this.#content
      const { size } = this.#file
      const time = timeOf(this.#file)
      const modified = time === null ? {} : { modified: time.toISOString() }
      const condition = revision === null ? { ifAbsent: true } : { ifRevision: revision }
      const body = { ...this.#content, path, size, ...modified, ...condition }
      const { id, missing } = await request(this.#page, 'POST /api/sync/uploads', { body, signal })
      upload = id
      for (const [sent, number] of missing.entries()) {
        progress(Math.floor((100 * (blocks.length - missing.length + sent)) / blocks.length))
        const address = `${uploads}/${id}/blocks/${blocks[number]?.sha256}`
        const block = this.#file.slice(number * blockSize, (number + 1) * blockSize)
        await accepted(await this.#page.fetch(address, { method: 'PUT', body: block, signal }))
      }
      await request(this.#page, 'POST /api/sync/uploads/{id}/commit', { names: { id }, headers, signal })
      return null
    } catch (error) {
      if (!(error instanceof Refusal) && !signal.aborted) return new Refusal(0, '')
      // The plugin is not there, or has no room for the blocks of this file.
      const isUnavailable = error instanceof Refusal && [404, 503, 507].includes(error.status)
      if (upload !== '' && (signal.aborted || isUnavailable)) await this.#forget(upload)
      if (isUnavailable) return 'unavailable'
      return error instanceof Refusal ? error : null
    }
  }

  async #forget(upload: string): Promise<void> {
    // Otherwise the node forgets the blocks some days later.
    await this.#page.fetch(`${uploads}/${upload}`, { method: 'DELETE' }).catch(() => {})
  }
}

async function contentOf(file: File, signal: AbortSignal): Promise<Content> {
  const whole = sha256.create()
  const blocks = []
  for (let start = 0; start < file.size; start += blockSize) {
    signal.throwIfAborted()
    const block = new Uint8Array(await file.slice(start, start + blockSize).arrayBuffer())
    whole.update(block)
    blocks.push({ sha256: bytesToHex(sha256(block)), size: block.length })
  }
  return { sha256: bytesToHex(whole.digest()), blocks }
}
