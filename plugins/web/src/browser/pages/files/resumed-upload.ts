import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted, isOfProxy, Refusal } from '../../refusal.ts'
import { timeOf } from './file-time.ts'
import { sendFile } from './send-file.ts'
import { type Attempt, type BegunUpload, paused } from './tasks.ts'

/** The routes of the plugin `uploads`, which speak tus 1.0. */
const uploads = '/api/files/uploads'
const version = { 'tus-resumable': '1.0.0' }

/** An upload that goes on from where it broke off, as the plugin `uploads` takes it. */
export class ResumedUpload {
  readonly #page: PageContext
  readonly #file: File
  #begun: BegunUpload | null

  /** @param begun the upload of the same file that was begun before */
  constructor(page: PageContext, file: File, begun: BegunUpload | null) {
    this.#page = page
    this.#file = file
    this.#begun = begun
  }

  get begun(): BegunUpload | null {
    return this.#begun
  }

  /**
   * Like `attempt` of a work.
   *
   * @returns `unavailable` if the node does not take the file in this way
   */
  async attempt(attempt: Attempt): Promise<Refusal | null | 'unavailable'> {
    try {
      const offset = await this.#begin(attempt)
      attempt.wentOn(offset / this.#file.size)
      const refusal = await this.#sendFrom(offset, attempt)
      // Another path or condition needs another upload.
      if (isCancelled(attempt) || refusal?.status === 412) await this.#forget()
      if (refusal?.status === 507) throw refusal
      // The upload is gone: the next attempt begins another one.
      return refusal?.status === 404 ? new Refusal(0, '') : refusal
    } catch (error) {
      if (!(error instanceof Refusal)) {
        if (isCancelled(attempt)) await this.#forget()
        return new Refusal(0, '')
      }
      // The plugin is not there, or has no room for unfinished uploads.
      if (![404, 503, 507].includes(error.status)) return error
      await this.#forget()
      return 'unavailable'
    }
  }

  /** Begins the upload, or asks how far the one is that was begun, in bytes. */
  async #begin({ path, replaces, headers, signal }: Attempt): Promise<number> {
    if (this.#begun?.path === path && this.#begun.replaces === replaces) {
      const answer = await this.#fetch(this.#begun.address, { method: 'HEAD', headers: version, signal })
      if (answer.ok) return Number(answer.headers.get('upload-offset'))
      if (answer.status !== 404) throw new TypeError('The node does not answer.')
      this.#begun = null
    }
    await this.#forget()
    const answer = await this.#fetch(uploads, {
      method: 'POST',
      headers: {
        ...headers,
        ...version,
        'upload-length': String(this.#file.size),
        'upload-metadata': this.#metadata(path),
        ...(!replaces && { 'if-none-match': '*' }),
      },
      signal,
    })
    const address = (await accepted(answer)).headers.get('location') ?? ''
    this.#begun = { path, replaces, address }
    return 0
  }

  async #sendFrom(offset: number, { headers, signal, progress, answered }: Attempt): Promise<Refusal | null> {
    const { size } = this.#file
    if (offset === size || this.#begun === null) return null
    const answer = await sendFile(offset === 0 ? this.#file : this.#file.slice(offset), {
      method: 'PATCH',
      address: this.#begun.address,
      headers: {
        ...headers,
        ...version,
        'upload-offset': String(offset),
        'content-type': 'application/offset+octet-stream',
      },
      signal,
      progress: (part) => progress((offset + part * (size - offset)) / size),
      answered,
    })
    return answer instanceof Refusal ? answer : null
  }

  #metadata(path: string): string {
    const time = timeOf(this.#file)
    const pairs = [['path', path], ...(time === null ? [] : [['mtime', (time.getTime() / 1000).toFixed(3)]])]
    return pairs.map(([name, value = '']) => `${name} ${base64(value)}`).join(',')
  }

  /** @throws TypeError if the node does not answer, also if a proxy says so */
  async #fetch(address: string, init: RequestInit): Promise<Response> {
    const answer = await this.#page.fetch(address, init)
    if (isOfProxy(answer.status, answer.headers.get('content-type')))
      throw new TypeError('The node does not answer.')
    return answer
  }

  async #forget(): Promise<void> {
    if (this.#begun === null) return
    const { address } = this.#begun
    this.#begun = null
    // Otherwise the node forgets it some days later.
    await forgetUpload(this.#page, address)
  }
}

/** Lets the node forget the part of an upload that it has. */
export async function forgetUpload(page: PageContext, address: string): Promise<void> {
  await page.fetch(address, { method: 'DELETE', headers: version }).catch(() => {})
}

function isCancelled({ signal }: Attempt): boolean {
  return signal.aborted && signal.reason !== paused
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
