import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'

type ChangesPage = NodeAnswers['GET /api/files/changes']
/** A change of a file or folder. */
export type Change = NonNullable<ChangesPage['changes']>[number]

/** Seconds that the node waits for a change, below the minute after which proxies close silent connections. */
const waitSeconds = 50

/** Milliseconds until the next request if the node has too many that wait. */
const pauseMs = 5000

/** Follows the changes of the person's files, by everybody and every device, while the page can be seen. */
export class ChangesFeed {
  readonly #page: PageContext
  readonly #onChanges: (changes: readonly Change[] | 'unknown') => void
  #cursor: string | null = null
  #running: AbortController | null = null

  /** @param onChanges gets `unknown` if there may have been changes that the node cannot name */
  constructor(page: PageContext, onChanges: (changes: readonly Change[] | 'unknown') => void) {
    this.#page = page
    this.#onChanges = onChanges
    const onVisibilityChange = () => (document.hidden ? this.#stop() : this.follow())
    document.addEventListener('visibilitychange', onVisibilityChange, { signal: page.signal })
    page.signal.addEventListener('abort', () => this.#stop())
  }

  /** Begins to follow, if it does not yet. It ends with the session. */
  follow(): void {
    if (this.#running !== null || document.hidden || this.#page.signal.aborted) return
    const running = new AbortController()
    this.#running = running
    void this.#run(running.signal).finally(() => {
      if (this.#running === running) this.#running = null
    })
  }

  #stop(): void {
    this.#running?.abort()
    this.#running = null
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await this.#ask(signal)
      if (signal.aborted) return
      if (answer === 'refused') return
      if (answer === 'away') await this.#page.nodeAnswers()
      else if (answer === 'busy') await pause(signal)
      else this.#take(answer)
    }
  }

  async #ask(signal: AbortSignal): Promise<ChangesPage | 'away' | 'busy' | 'refused'> {
    const query = new URLSearchParams(
      this.#cursor === null ? {} : { after: this.#cursor, wait: String(waitSeconds) },
    )
    try {
      // A question to sign in again comes with the next action of the person, not out of the blue.
      const answer = await fetch(`/api/files/changes?${query}`, { signal, cache: 'no-store' })
      if (answer.ok) return await answer.json()
      return answer.status === 429 || answer.status >= 500 ? 'busy' : 'refused'
    } catch {
      return 'away'
    }
  }

  #take({ changes = [], cursor, reset }: ChangesPage): void {
    const isUnknown = this.#cursor === null || reset === true
    this.#cursor = cursor
    if (isUnknown) this.#onChanges('unknown')
    else if (changes.length > 0) this.#onChanges(changes)
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, pauseMs)
    signal.addEventListener('abort', end)
  })
}
