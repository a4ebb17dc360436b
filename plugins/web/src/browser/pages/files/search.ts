import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, computed, signal } from '@preact/signals'
import { chatNameAt } from '../../chat-address.ts'
import { reasonOf, request } from '../../request.ts'
import type { Folder } from './folder.ts'

type Answer = NodeAnswers['GET /api/search']
/** A file or folder that was found. */
export type Found = Answer['entries'][number]

/** The kinds of entries that a person can choose from, as the node names them. */
export const kinds = ['picture', 'audio', 'video', 'document', 'text', 'archive', 'folder'] as const
export type Kind = (typeof kinds)[number]

/** Milliseconds between the last letter and the request. */
const typingMs = 200

/** The search among the person's files. The address has the text that is searched for: `#/files/photos?search=sea`. */
export class Search {
  readonly text = signal('')
  /** The kind of the entries that are found; `null` for all. */
  readonly kind = signal<Kind | null>(null)
  /** Whether only the folder that is shown is searched. */
  readonly isOnlyHere = signal(false)
  /** Whether the person searches. Then the entries that were found take the place of the folder. */
  readonly isOpen = computed(() => this.text.value.trim() !== '')
  /** The entries that were found; `null` until the node has answered. */
  readonly found = signal<readonly Found[] | null>(null)
  /** For the next page; `null` after the last one. */
  readonly next = signal<string | null>(null)
  /** Files whose contents the node has not read yet; `null` if it has read all. */
  readonly unread = signal<number | null>(null)
  /** The reason why nothing is found; empty if nothing is wrong. */
  readonly fault = signal('')
  /** Whether a conversation that was found can be shown as one. */
  readonly #hasChat = signal(false)
  readonly #page: PageContext
  readonly #folder: Folder
  /** Ends the request that runs. */
  #asking = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(page: PageContext, folder: Folder) {
    this.#page = page
    this.#folder = folder
    page.signal.addEventListener('abort', () => this.#interrupt())
  }

  /** Shows what the node finds for a text; nothing for an empty one. */
  show(text: string): void {
    if (text === this.text.value) return
    this.text.value = text
    this.#askSoon(typingMs)
  }

  choose(kind: Kind | null): void {
    this.kind.value = kind
    this.#askSoon(0)
  }

  chooseOnlyHere(isOnlyHere: boolean): void {
    this.isOnlyHere.value = isOnlyHere
    this.#askSoon(0)
  }

  /** Shows the folder again. */
  close(): void {
    const path = this.#folder.path.value
    this.#page.navigate(path === '/' ? '/files' : `/files${path}`, { replace: true })
  }

  /** Returns the name of the conversation that an entry is; `null` for any other, and on a node without chats. */
  chatIn({ path, type }: Pick<Found, 'path' | 'type'>): string | null {
    return this.#hasChat.value && type === 'file' ? chatNameAt(path) : null
  }

  /** Loads the next page. */
  async more(): Promise<void> {
    if (this.next.value !== null) await this.#ask(this.next.value)
  }

  #askSoon(ms: number): void {
    this.#interrupt()
    if (this.isOpen.value) this.#timer = setTimeout(() => void this.#ask(null), ms)
    else this.#show(null, null, null, '')
  }

  /** @param after the page before; `null` for the first page. Until it has come, the entries before stay. */
  async #ask(after: string | null): Promise<void> {
    this.#interrupt()
    const asking = new AbortController()
    this.#asking = asking
    const query = {
      q: this.text.value.trim(),
      ...(this.kind.value !== null && { type: this.kind.value }),
      ...(this.isOnlyHere.value && { in: this.#folder.path.value }),
    }
    try {
      const { entries, next, isComplete, waiting } = await this.#pageAfter(after, query, asking.signal)
      if (!this.#hasChat.value && entries.some(({ path }) => chatNameAt(path) !== null))
        await this.#askForChat(asking.signal)
      if (asking.signal.aborted) return
      const before = after === null ? [] : (this.found.value ?? [])
      this.#show([...before, ...entries], next, isComplete ? null : waiting, '')
    } catch (error) {
      if (!asking.signal.aborted)
        this.#show(after === null ? [] : this.found.value, after, null, reasonOf(error))
    }
  }

  async #askForChat(signal: AbortSignal): Promise<void> {
    const { pages } = await request(this.#page, 'GET /api/web/pages', { signal })
    this.#hasChat.value = pages.some(({ name }) => name === 'chat')
  }

  /** Loads the next page that has entries, if there is one: pages of one folder may have none. */
  async #pageAfter(
    after: string | null,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Answer> {
    for (let at = after; ; ) {
      const sent = { query: { ...query, ...(at !== null && { after: at }) }, signal }
      const answer = await request(this.#page, 'GET /api/search', sent)
      if (answer.entries.length > 0 || answer.next === null) return answer
      at = answer.next
    }
  }

  #show(found: readonly Found[] | null, next: string | null, unread: number | null, fault: string): void {
    batch(() => {
      this.found.value = found
      this.next.value = next
      this.unread.value = unread
      this.fault.value = fault
    })
  }

  #interrupt(): void {
    clearTimeout(this.#timer)
    this.#asking.abort()
  }
}
