import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { chatFolder, chatNameAt, titleOf } from '../../chat-address.ts'
import { request } from '../../request.ts'
import type { ChatFile } from './chat-files.ts'

/** Milliseconds between the last letter and the request. */
const typingMs = 200

/** Finds conversations by their titles and, if the node has the plugin `search`, by what was said. */
export class ChatSearch {
  readonly text = signal('')
  /** The names of conversations in which the node has found the words. */
  readonly #inside = signal<ReadonlySet<string>>(new Set())
  readonly #page: PageContext
  #asking = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(page: PageContext) {
    this.#page = page
  }

  type(text: string): void {
    this.text.value = text
    this.#inside.value = new Set()
    clearTimeout(this.#timer)
    this.#asking.abort()
    if (text.trim() !== '') this.#timer = setTimeout(() => void this.#ask(text.trim()), typingMs)
  }

  /** Returns the conversations that are found among all. */
  found(chats: readonly ChatFile[]): readonly ChatFile[] {
    const words = this.text.value.toLocaleLowerCase().split(/\s+/).filter(Boolean)
    return chats.filter(({ name }) => {
      const title = titleOf(name).toLocaleLowerCase()
      return words.every((word) => title.includes(word)) || this.#inside.value.has(name)
    })
  }

  async #ask(text: string): Promise<void> {
    const asking = new AbortController()
    this.#asking = asking
    try {
      const query = { q: text.slice(0, 200), in: chatFolder, limit: '100' }
      const { entries } = await request(this.#page, 'GET /api/search', { query, signal: asking.signal })
      if (asking.signal.aborted) return
      this.#inside.value = new Set(entries.flatMap(({ path }) => chatNameAt(path) ?? []))
    } catch {
      // The titles are found without the node.
    }
  }
}
