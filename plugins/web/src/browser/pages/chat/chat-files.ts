import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { chatDatePattern, chatFolder } from '../../chat-address.ts'
import { accepted } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { undoHeader } from '../files/last-change.ts'
import { contentAddress } from '../files/paths.ts'

/** One message of a conversation, as it is stored. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
  /** The paths of the files that the person attached. They stay files of the person, and are read when the model is asked. */
  readonly files?: readonly string[]
  /** The model that replied, as `provider/model`. */
  readonly model?: string
  /** Whether the reply was stopped or failed before its end. */
  readonly incomplete?: boolean
}

/** The content of a file. Fields that other programs added are kept. */
export interface StoredChat {
  readonly messages: readonly Message[]
  readonly [field: string]: unknown
}

type Listing = NodeAnswers['GET /api/files/list']

/** A conversation in the list. */
export type ChatFile = Pick<Listing['entries'][number], 'name' | 'modified'>

/** Characters of a title in a name, so that the name has at most 255 bytes in UTF-8. */
const titleLength = 48

/**
 * The conversations of the person. Each is a file `/chats/<date> <title>.json` with `{ "messages": [{ "role", "content" }] }`, as
 * `POST /api/ai/chat` takes them.
 */
export class ChatFiles {
  readonly #fetch: PageContext['fetch']
  #hasTrash = false
  /** Whether the folder was seen. */
  #isThere = false

  constructor(fetch: PageContext['fetch']) {
    this.#fetch = fetch
  }

  /** Lists the conversations, the last changed first. */
  async list(): Promise<ChatFile[]> {
    if (!(await this.#hasFolder())) return []
    const chats: ChatFile[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = new URLSearchParams({
        path: chatFolder,
        limit: '10000',
        ...(cursor !== '' && { cursor }),
      })
      const answer = await this.#fetch(`/api/files/list?${query}`)
      if (answer.status === 404) return []
      const page = (await (await accepted(answer)).json()) as Listing
      this.#hasTrash = page.keeps.trash
      chats.push(...page.entries.filter(({ type, name }) => type === 'file' && name.endsWith('.json')))
      cursor = page.cursor
    }
    return chats.sort((a, b) => b.modified.localeCompare(a.modified))
  }

  /** Tells whether the folder is there, without an answer 404, which browsers log as an error. */
  async #hasFolder(): Promise<boolean> {
    if (this.#isThere) return true
    const answer = await accepted(await this.#fetch('/readdir?path=/'))
    const entries = (await answer.json()) as NodeAnswers['GET /readdir']
    this.#isThere = entries.some(({ name }) => `/${name}` === chatFolder)
    return this.#isThere
  }

  /** Whether a deletion can be taken back, as of the last list. */
  get hasTrash(): boolean {
    return this.#hasTrash
  }

  /** @throws Error if the file is no conversation */
  async read(name: string): Promise<{ chat: StoredChat; etag: string }> {
    const answer = await accepted(await this.#fetch(contentAddress(pathOf(name))))
    return { chat: chatIn(await answer.text()), etag: answer.headers.get('etag') ?? '' }
  }

  /**
   * Replaces a conversation.
   *
   * @param etag the version that is replaced
   * @returns the new version, or `null` if another program changed the file
   */
  replace(name: string, chat: StoredChat, etag: string): Promise<string | null> {
    return this.#write(name, chat, { 'if-match': etag })
  }

  /** Stores a conversation under a name that is free. */
  async create(title: string, chat: StoredChat): Promise<{ name: string; etag: string }> {
    for (let count = 1; ; count += 1) {
      const name = `${today()} ${title}${count > 1 ? ` ${count}` : ''}.json`
      const etag = await this.#write(name, chat, { 'if-none-match': '*' })
      if (etag !== null) return { name, etag }
    }
  }

  /**
   * Gives a conversation another title.
   *
   * @throws Refusal with the status 409 if another one of this date has the title
   */
  async rename(name: string, title: string): Promise<{ name: string; etag: string }> {
    const newName = `${chatDatePattern.exec(name)?.[0] ?? ''}${title}.json`
    const answer = await this.#post('/move', { source: pathOf(name), destination: pathOf(newName) })
    return { name: newName, etag: answer.headers.get('etag') ?? '' }
  }

  /** Deletes a conversation. Returns the group that takes it back, or `null` if it is gone for good. */
  async delete(name: string): Promise<string | null> {
    return (await this.#post('/delete', { path: pathOf(name) })).headers.get(undoHeader)
  }

  /** Takes a deletion back. */
  async undo(group: string): Promise<void> {
    await this.#post('/api/files/undo', { group })
  }

  /**
   * Stores a file of the device beside the conversations.
   *
   * @returns its path
   */
  async storeAttached(file: File): Promise<string> {
    const dot = file.name.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [file.name.slice(0, dot), file.name.slice(dot)] : [file.name, '']
    for (let count = 1; ; count += 1) {
      const name = `${today()} ${titleFrom(stem)}${count > 1 ? ` ${count}` : ''}${titleFrom(ending)}`
      const path = `${chatFolder}/files/${name}`
      const answer = await this.#fetch(`/write?path=${encodeURIComponent(path)}`, {
        method: 'PUT',
        headers: { 'if-none-match': '*' },
        body: file,
      })
      if (answer.status === 412) continue
      await accepted(answer)
      return path
    }
  }

  async deleteAttached(path: string): Promise<void> {
    await this.#post('/delete', { path })
  }

  async #write(name: string, chat: StoredChat, condition: Record<string, string>): Promise<string | null> {
    const path = `path=${encodeURIComponent(pathOf(name))}`
    const body = `${JSON.stringify(chat, null, 2)}\n`
    const answer = await this.#fetch(`/write?${path}`, { method: 'PUT', headers: condition, body })
    if (answer.status !== 412) return (await accepted(answer)).headers.get('etag') ?? ''
    // The answer to the same write may have been lost, and this is its repetition.
    const stored = await this.#fetch(`/read?${path}`)
    return stored.ok && (await stored.text()) === body ? (stored.headers.get('etag') ?? '') : null
  }

  async #post(route: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    return accepted(await this.#fetch(route, { method: 'POST', headers, body: JSON.stringify(body) }))
  }
}

/**
 * Returns a text as a title that a file name can have; empty if nothing is left. The joiners U+200C and U+200D stay within
 * it: words of several scripts need them, and so do emoji of several people.
 */
export function titleFrom(text: string): string {
  const words = text.replace(/[\/\\\s[\p{C}--[\u200c\u200d]]]+/gv, ' ').toWellFormed()
  let title = ''
  for (const { segment } of new Intl.Segmenter().segment(words.replace(/^[\s\u200c\u200d]+/v, ''))) {
    if ([...title, ...segment].length > titleLength) break
    title += segment
  }
  return title.replace(/[\s\u200c\u200d]+$/v, '')
}

function pathOf(name: string): string {
  return `${chatFolder}/${name}`
}

function chatIn(text: string): StoredChat {
  try {
    const chat = JSON.parse(text) as StoredChat
    if (chat.messages.every(isMessage)) return chat
  } catch {
    // The error below tells.
  }
  throw new Error(texts.chat.notChat)
}

function isMessage({ role, content, model = '', files = [] }: Message): boolean {
  const isRole = ['system', 'user', 'assistant'].includes(role)
  const hasPaths = Array.isArray(files) && files.every((path) => typeof path === 'string')
  return isRole && typeof content === 'string' && typeof model === 'string' && hasPaths
}

function today(): string {
  const now = new Date()
  const parts = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
  return parts.map((part) => String(part).padStart(2, '0')).join('-')
}
