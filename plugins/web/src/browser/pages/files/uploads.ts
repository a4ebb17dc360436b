import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { type Signal, signal } from '@preact/signals'
import { type Refusal, refusalOf } from '../../refusal.ts'
import { texts } from '../../texts.ts'

/** The state of an upload. `away` waits for the node; `exists` waits for the person. */
type UploadState =
  | { readonly is: 'waiting' | 'away' | 'done' | 'cancelled' | 'exists' }
  | { readonly is: 'running'; readonly percent: number }
  | { readonly is: 'failed'; readonly reason: string }

/** One file on its way to the node. */
export interface Upload {
  readonly path: string
  readonly file: File
  readonly state: Signal<UploadState>
  replaces: boolean
  request: XMLHttpRequest | null
}

/** The uploads that run at a time. */
const atOnce = 3

/**
 * The queue of uploads. The browser streams each file from the disk, so a large one takes no memory of the page. `fetch` does not
 * tell how far an upload is, so these are requests of XMLHttpRequest.
 */
export class Uploads {
  readonly list = signal<readonly Upload[]>([])
  readonly userUuid: string
  /** Called with the path of each file that is on the node. */
  onStored: (path: string) => void = () => {}
  readonly #page: PageContext
  #running = 0

  constructor(page: PageContext) {
    this.#page = page
    this.userUuid = page.user.uuid
    addEventListener('beforeunload', (event) => {
      if (this.#running > 0) event.preventDefault()
    })
  }

  /** Adds a file, to be stored at a path. */
  add(path: string, file: File): void {
    const state = signal<UploadState>({ is: 'waiting' })
    this.list.value = [...this.list.value, { path, file, state, replaces: false, request: null }]
    this.#next()
  }

  /** Starts an upload again, which now replaces what is there. */
  replace(upload: Upload): void {
    upload.replaces = true
    upload.state.value = { is: 'waiting' }
    this.#next()
  }

  cancel(upload: Upload): void {
    upload.state.value = { is: 'cancelled' }
    upload.request?.abort()
  }

  cancelAll(): void {
    for (const upload of this.list.value) this.cancel(upload)
  }

  /** Removes the uploads that have ended from the list. */
  clear(): void {
    this.list.value = this.list.value.filter(
      ({ state }) => !['done', 'cancelled', 'failed'].includes(state.value.is),
    )
  }

  #next(): void {
    const waiting = this.list.value.filter(({ state }) => state.value.is === 'waiting')
    for (const upload of waiting.slice(0, atOnce - this.#running)) void this.#run(upload)
  }

  async #run(upload: Upload): Promise<void> {
    this.#running += 1
    try {
      await this.#store(upload)
    } finally {
      this.#running -= 1
      this.#next()
    }
  }

  /** Sends a file until the node has stored or refused it. */
  async #store(upload: Upload): Promise<void> {
    const { state, path } = upload
    for (;;) {
      state.value = { is: 'running', percent: 0 }
      const refusal = await send(upload)
      if ((state.value as UploadState).is === 'cancelled') return
      if (refusal === null) {
        state.value = { is: 'done' }
        this.onStored(path)
        return
      }
      if (refusal.status === 401 && (await this.#page.signIn())) continue
      if (refusal.status === 0) {
        state.value = { is: 'away' }
        await this.#page.nodeAnswers()
        if ((state.value as UploadState).is === 'cancelled') return
        continue
      }
      state.value = refusal.status === 412 ? { is: 'exists' } : { is: 'failed', reason: refusal.message }
      return
    }
  }
}

/** Sends a file once. Resolves to `null` if it is stored; to a refusal with the status 0 if the node does not answer. */
function send(upload: Upload): Promise<Refusal | null> {
  return new Promise((resolve) => {
    const { path, file, state, replaces } = upload
    const request = new XMLHttpRequest()
    upload.request = request
    const end = () => {
      upload.request = null
      if (request.status >= 200 && request.status < 300) resolve(null)
      else resolve(refusalOf(request.status, request.responseText))
    }
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      if (state.value.is !== 'running') return
      state.value = { is: 'running', percent: Math.floor((100 * loaded) / Math.max(total, 1)) }
    })
    request.addEventListener('loadend', end)
    request.open('PUT', `/write?path=${encodeURIComponent(path)}`)
    if (!replaces) request.setRequestHeader('if-none-match', '*')
    request.send(file)
  })
}

/** Returns the state of an upload in words. */
export function stateText(state: UploadState): string {
  if (state.is === 'running') return texts.files.state.running(state.percent)
  if (state.is === 'failed') return state.reason || texts.files.failed
  return texts.files.state[state.is]
}
