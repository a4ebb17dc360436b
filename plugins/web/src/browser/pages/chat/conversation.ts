import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, signal } from '@preact/signals'
import { titleOf } from '../../chat-address.ts'
import { keepDraft, keepFiles, keptDraft, keptFiles } from '../../drafts.ts'
import * as texts from '../../texts.ts'
import { nameOf } from '../files/paths.ts'
import { AttachedContents } from './attached-content.ts'
import { Attachments } from './attachments.ts'
import { type ChatFiles, type Message, type StoredChat, titleFrom } from './chat-files.ts'
import { replyPieces } from './reply-stream.ts'

/** One conversation: its messages, the reply that comes in, and its file. */
export class Conversation {
  /** The name of the file; `null` until it is stored. */
  readonly name = signal<string | null>(null)
  readonly messages = signal<readonly Message[]>([])
  /** The reply that comes in, as far as it is there; `null` if none does. */
  readonly reply = signal<{ readonly model: string; readonly content: string } | null>(null)
  /** The reason why the last reply failed. Empty if it did not. */
  readonly replyFault = signal('')
  /** The reason why the conversation cannot be stored or opened. */
  readonly fileFault = signal('')
  readonly isLoading = signal(false)
  /** The message that is typed and not sent yet. */
  readonly draft = signal('')
  /** The files that go with it. */
  readonly attachments: Attachments
  readonly #contents: AttachedContents
  readonly #page: PageContext
  readonly #files: ChatFiles
  /** The fields of the file beside the messages. */
  #others: object = {}
  #etag = ''
  #stopping = new AbortController()
  #isUnsaved = false
  #isEnded = false
  /** The reply that was asked for last, until it is stored. */
  #asked: Promise<unknown> = Promise.resolve()
  /** The work on the file, one after the other. */
  #work: Promise<unknown> = Promise.resolve()

  constructor(page: PageContext, files: ChatFiles, name: string | null) {
    this.#page = page
    this.#files = files
    this.name.value = name
    this.draft.value = keptDraft(this.#draftKey)
    this.#contents = new AttachedContents(page.fetch)
    this.attachments = new Attachments(files, this.#contents, () => this.#keepFiles())
    this.attachments.restore(keptFiles(this.#draftKey))
  }

  /** Whether it would be lost, or be cut short, without this object. */
  get isBusy(): boolean {
    return !this.#isEnded && (this.reply.value !== null || this.#isUnsaved)
  }

  /** Reads the file, unless this has something newer. */
  load(): Promise<void> {
    return this.#afterOthers(async () => {
      if (this.name.value === null || this.isBusy) return
      this.isLoading.value = true
      try {
        const { chat, etag } = await this.#files.read(this.name.value)
        const { messages, ...others } = chat
        this.#others = others
        this.#etag = etag
        this.messages.value = messages
        this.fileFault.value = ''
      } catch (error) {
        this.fileFault.value = (error as Error).message
      }
      this.isLoading.value = false
    })
  }

  type(text: string): void {
    this.draft.value = text
    keepDraft(this.#draftKey, text)
  }

  /** Whether there is something to send. */
  get canSend(): boolean {
    const isEmpty = this.draft.value.trim() === '' && this.attachments.list.value.length === 0
    return !isEmpty && !this.attachments.isStoring && this.reply.value === null && !this.isLoading.value
  }

  /** Sends what is typed, and the files. */
  async send(model: string): Promise<void> {
    const content = this.draft.value
    const files = this.attachments.paths
    batch(() => {
      this.draft.value = ''
      this.attachments.clear()
      this.messages.value = [
        ...this.messages.value,
        { role: 'user', content, ...(files.length > 0 && { files }) },
      ]
    })
    await this.#saveAndAsk(model)
  }

  /** Asks for the last reply again. */
  async retry(model: string): Promise<void> {
    const last = this.messages.value.at(-1)
    if (last?.role !== 'assistant') return this.#ask(model)
    this.messages.value = this.messages.value.slice(0, -1)
    await this.#ask(model, last)
  }

  /** Changes a question and asks it again. What followed it goes, until the person takes that back. */
  async edit(index: number, content: string, model: string): Promise<void> {
    const before = this.messages.value
    const question = before[index]
    if (question === undefined || this.reply.value !== null) return
    this.messages.value = [...before.slice(0, index), { ...question, content }]
    const run = () => void this.#takeBack(before)
    this.#page.notice(texts.chat.edited, 'done', { label: texts.files.undo, run })
    await this.#saveAndAsk(model)
  }

  async #takeBack(before: readonly Message[]): Promise<void> {
    this.stop()
    await this.#asked
    batch(() => {
      this.messages.value = before
      this.replyFault.value = ''
    })
    await this.save()
  }

  async #saveAndAsk(model: string): Promise<void> {
    const saved = this.save()
    await this.#ask(model)
    await saved
  }

  /** Stops the reply. What came of it stays. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Stores the conversation. It waits for the node, and goes on in the background. */
  save(): Promise<void> {
    this.#isUnsaved = true
    return this.#afterOthers(() => this.#store())
  }

  rename(title: string): Promise<void> {
    return this.#afterOthers(async () => {
      const renamed = await this.#files.rename(this.name.value ?? '', titleFrom(title))
      this.#etag = renamed.etag
      this.#setName(renamed.name)
    })
  }

  /** Deletes the conversation. Resolves to the group that takes it back; to `null` if it is gone for good. */
  delete(): Promise<string | null> {
    this.end()
    return this.#afterOthers(async () => {
      try {
        const group = await this.#files.delete(this.name.value ?? '')
        keepDraft(this.#draftKey, '')
        return group
      } catch (error) {
        this.#isEnded = false
        throw error
      }
    })
  }

  /** Stops the reply, and stores nothing any more. */
  end(): void {
    this.#isEnded = true
    this.stop()
  }

  /** @param replaced the former reply, which comes back if there is no new one */
  #ask(model: string, replaced?: Message): Promise<void> {
    const asked = this.#askOnce(model, replaced)
    this.#asked = asked
    return asked
  }

  async #askOnce(model: string, replaced?: Message): Promise<void> {
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    const messages = this.messages.value
    this.replyFault.value = ''
    this.reply.value = { model, content: '' }
    let content = ''
    let frame = 0
    let fault = ''
    try {
      const sent = await this.#contents.sent(messages, signal)
      for await (const piece of replyPieces(this.#page.fetch, { model, messages: sent, signal })) {
        content += piece
        // Pieces may come faster than the screen shows them.
        frame ||= requestAnimationFrame(() => {
          frame = 0
          this.reply.value = { model, content }
        })
      }
    } catch (error) {
      if (!signal.aborted) fault = this.#faultOf(error)
    }
    cancelAnimationFrame(frame)
    const incomplete = fault !== '' || signal.aborted
    const reply: Message = { role: 'assistant', content, model, ...(incomplete && { incomplete }) }
    const last = content === '' ? replaced : reply
    batch(() => {
      this.reply.value = null
      this.replyFault.value = fault
      this.messages.value = last === undefined ? messages : [...messages, last]
    })
    if (content !== '') await this.save()
  }

  #faultOf(error: unknown): string {
    if (!(error instanceof TypeError)) return (error as Error).message
    // The connection broke, so the page tells when the node is back.
    void this.#page.nodeAnswers()
    return texts.chat.cutShort
  }

  async #store(): Promise<void> {
    while (this.#isUnsaved && !this.#isEnded) {
      const messages = this.messages.value
      try {
        await this.#write({ ...this.#others, messages })
        // More may have been said meanwhile.
        this.#isUnsaved = messages !== this.messages.value
        this.fileFault.value = ''
        if (this.draft.value === '') keepDraft(this.#draftKey, '')
      } catch (error) {
        if (!(error instanceof TypeError)) {
          this.fileFault.value = texts.chat.notStored((error as Error).message)
          return
        }
        await this.#page.nodeAnswers()
      }
    }
  }

  async #write(chat: StoredChat): Promise<void> {
    const name = this.name.value
    if (name !== null) {
      const etag = await this.#files.replace(name, chat, this.#etag)
      if (etag !== null) {
        this.#etag = etag
        return
      }
      this.#page.notice(texts.chat.changedElsewhere)
    }
    const title = name === null ? titleOfNew(chat.messages) : titleOf(name)
    const created = await this.#files.create(title, chat)
    this.#etag = created.etag
    this.#setName(created.name)
  }

  #setName(name: string): void {
    keepDraft(this.#draftKey, '')
    keepFiles(this.#draftKey, [])
    this.name.value = name
    keepDraft(this.#draftKey, this.draft.value)
    this.#keepFiles()
  }

  #keepFiles(): void {
    keepFiles(this.#draftKey, this.attachments.paths)
  }

  get #draftKey(): string {
    return `chat ${this.#page.user.uuid} ${this.name.peek() ?? ''}`
  }

  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => {})
    return done
  }
}

/** Returns the title of a new conversation: the beginning of the first question, or the name of its first file. */
function titleOfNew(messages: readonly Message[]): string {
  const { content = '', files: [path = ''] = [] } = messages.find(({ role }) => role === 'user') ?? {}
  return titleFrom(content) || titleFrom(nameOf(path)) || texts.chat.untitled
}
