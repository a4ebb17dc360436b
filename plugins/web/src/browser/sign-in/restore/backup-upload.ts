import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { accepted, refusalOf } from '../../refusal.ts'

/** A backup that the node has received. */
export type UploadedBackup = NodeAnswers['PUT /auth/restore']
/** The content of the backup, and what the restore would change. */
export type Comparison = NodeAnswers['POST /auth/restore/compare']

/** The requests that restore a backup on a node without an owner. The claim code stands for the person. */
export class BackupUpload {
  readonly #headers: Readonly<Record<string, string>>

  constructor(claim: string) {
    this.#headers = { 'x-nodekeep-claim': claim }
  }

  /**
   * Sends the backup. The browser streams it from the disk. `fetch` does not tell how far an upload is, so this is a request of
   * XMLHttpRequest.
   *
   * @param onProgress called with the bytes that were sent
   * @throws Refusal; TypeError if the connection breaks off; the reason of the signal
   */
  send(file: Blob, onProgress: (bytes: number) => void, signal: AbortSignal): Promise<UploadedBackup> {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded))
      request.addEventListener('loadend', () => {
        const { status, responseText } = request
        if (signal.aborted) reject(signal.reason)
        else if (status === 200) resolve(JSON.parse(responseText))
        else
          reject(status === 0 ? new TypeError('The connection broke off.') : refusalOf(status, responseText))
      })
      signal.addEventListener('abort', () => request.abort())
      request.open('PUT', '/auth/restore')
      const headers = { ...this.#headers, 'content-type': 'application/gzip' }
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
      request.send(file)
    })
  }

  /** Lets the node read the whole backup. */
  compare(
    choices: { readonly key?: string; readonly newIdentity: boolean },
    signal: AbortSignal,
  ): Promise<Comparison> {
    return this.#post('compare', choices, signal)
  }

  /** Resolves to the share of the backup that the node has read, from 0 to 1; to `null` while it reads none. */
  async share(signal: AbortSignal): Promise<number | null> {
    const answer = await fetch('/auth/restore', { headers: this.#headers, signal, cache: 'no-store' })
    return ((await (await accepted(answer)).json()) as NodeAnswers['GET /auth/restore']).reading
  }

  /** Plans the restore. Resolves to whether the node restarts by itself. */
  async confirm(prepared: string): Promise<boolean> {
    return (await this.#post<NodeAnswers['POST /auth/restore/confirm']>('confirm', { prepared })).restarts
  }

  /** Whether another process answers than the one that has printed the claim code, so that the restore is done. */
  async isDone(signal: AbortSignal): Promise<boolean> {
    try {
      const { status } = await fetch('/auth/restore', { headers: this.#headers, signal, cache: 'no-store' })
      return status === 403
    } catch {
      return false
    }
  }

  async #post<T>(step: string, body: object, signal?: AbortSignal): Promise<T> {
    const headers = { ...this.#headers, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) }
    return (await accepted(await fetch(`/auth/restore/${step}`, init))).json()
  }
}
