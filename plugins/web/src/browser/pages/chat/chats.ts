import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { type Signal, signal } from '@preact/signals'
import { request } from '../../request.ts'
import { type ChatFile, ChatFiles } from './chat-files.ts'
import { ChatSearch } from './chat-search.ts'
import { Conversation } from './conversation.ts'
import { firstModel } from './model-name.ts'

/** The conversations of the person, the one that is shown, and the models. */
export class Chats {
  readonly current: Signal<Conversation>
  /** `null` until the node has answered. */
  readonly list = signal<readonly ChatFile[] | null>(null)
  /** All models as `provider/model`; `null` until the node has answered. */
  readonly models = signal<readonly string[] | null>(null)
  /** The hosts of the servers of providers, as far as the node knows them. */
  readonly hosts = signal<Readonly<Record<string, string>>>({})
  /** The model that replies. */
  readonly model = signal('')
  /** The reason why the list or the models cannot be shown. */
  readonly fault = signal('')
  readonly search: ChatSearch
  readonly #page: PageContext
  readonly #files: ChatFiles
  /** Conversations that go on in the background, and the one that is shown. */
  #kept: Conversation[] = []

  constructor(page: PageContext) {
    this.#page = page
    this.#files = new ChatFiles(page.fetch)
    this.search = new ChatSearch(page)
    this.current = signal(this.#conversation(null))
    this.#kept.push(this.current.value)
    const stay = (event: Event) => {
      if (this.#kept.some(({ isBusy }) => isBusy)) event.preventDefault()
    }
    addEventListener('beforeunload', stay, { signal: page.signedOut })
  }

  /** Shows the conversation in a file, or a new one. */
  open(name: string | null): void {
    const shown = this.current.value
    const kept = this.#kept.find((chat) => chat.isBusy && chat.name.value === name)
    const chat = shown.name.value === name ? shown : (kept ?? this.#conversation(name))
    this.#show(chat)
    void chat.load().then(() => this.#chooseModelOf(chat))
  }

  /** Shows a new conversation, also if the one that is shown has no name yet. */
  begin(): void {
    const { name, messages } = this.current.value
    if (name.value !== null || messages.value.length > 0) this.#show(this.#conversation(null))
  }

  async refresh(): Promise<void> {
    await this.#attempt(async () => {
      this.list.value = await this.#files.list()
    })
  }

  /** Whether a deletion can be taken back. */
  get hasTrash(): boolean {
    return this.#files.hasTrash
  }

  /** Takes the deletion of a conversation back, and shows it. */
  async takeBack(name: string, group: string): Promise<void> {
    await this.#attempt(() => this.#files.undo(group))
    await this.refresh()
    this.#page.navigate(`/chat/${name}`)
  }

  async loadModels(): Promise<void> {
    await this.#attempt(async () => {
      const [{ providers }, { hosts }] = await Promise.all([
        request(this.#page, 'GET /api/ai/models'),
        request(this.#page, 'GET /api/ai/hosts'),
      ])
      const models = Object.entries(providers).flatMap(([provider, names]) =>
        names.map((name) => `${provider}/${name}`),
      )
      this.hosts.value = hosts
      this.models.value = models
      if (this.model.value !== '') return
      const last = localStorage.getItem(this.#modelKey) ?? ''
      this.model.value = models.includes(last) ? last : firstModel(models)
    })
  }

  chooseModel(model: string): void {
    this.model.value = model
    localStorage.setItem(this.#modelKey, model)
  }

  /** Ends everything that goes on. */
  end(): void {
    for (const chat of this.#kept) chat.end()
  }

  #conversation(name: string | null): Conversation {
    return new Conversation(this.#page, this.#files, name)
  }

  #show(chat: Conversation): void {
    this.#kept = [...this.#kept.filter((kept) => kept.isBusy && kept !== chat), chat]
    this.current.value = chat
  }

  /** A conversation goes on with the model that replied last. */
  #chooseModelOf(chat: Conversation): void {
    const model = chat.messages.value.findLast((message) => typeof message.model === 'string')?.model
    if (model !== undefined && chat === this.current.value) this.model.value = model
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.fault.value = ''
    } catch (error) {
      this.fault.value = (error as Error).message
    }
  }

  get #modelKey(): string {
    return `chat model ${this.#page.user.uuid}`
  }
}
