import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { bytesText } from '../../bytes-text.ts'
import { accepted } from '../../refusal.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { contentAddress, nameOf } from '../files/paths.ts'
import type { Message } from './chat-files.ts'

/** A part of a message, as `POST /api/ai/chat` takes it. */
type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }

/** A message as `POST /api/ai/chat` takes it. */
export interface SentMessage {
  readonly role: Message['role']
  readonly content: string | readonly Part[]
}

/** The most bytes of a text that is attached. Models read a text as a whole, and each reply reads it again. */
const mostText = 200_000

/** The most bytes of a picture that is attached, before it is made smaller. */
const mostPicture = 50_000_000

/** The longest side of a picture that is sent, in pixels. Models make larger ones smaller themselves. */
const longestSide = 1568

const jpegQuality = 0.85

/** The contents of the files that are attached in a conversation. Each is read once, although each reply needs all of them. */
export class AttachedContents {
  readonly #fetch: PageContext['fetch']
  readonly #parts = new Map<string, Part>()

  constructor(fetch: PageContext['fetch']) {
    this.#fetch = fetch
  }

  /** Keeps the content of a file that was just stored at a path. */
  set(path: string, part: Part): void {
    this.#parts.set(path, part)
  }

  /** @throws Error with the reason why the file cannot be attached */
  async read(path: string, signal?: AbortSignal): Promise<Part> {
    const known = this.#parts.get(path)
    if (known !== undefined) return known
    const name = nameOf(path)
    const answer = await this.#fetch(contentAddress(path), signal && { signal })
    if (answer.status === 404) return { type: 'text', text: texts.chat.goneFile(name) }
    const { headers, body } = await accepted(answer)
    if (Number(headers.get('content-length')) > mostPicture) {
      await body?.cancel()
      throw new Error(texts.chat.tooLarge(shownName(name), bytesText(mostPicture)))
    }
    const part = await partOf(name, await answer.blob())
    this.#parts.set(path, part)
    return part
  }

  /** Returns messages with the contents of their files. */
  sent(messages: readonly Message[], signal: AbortSignal): Promise<SentMessage[]> {
    return Promise.all(
      messages.map(async ({ role, content, files = [] }): Promise<SentMessage> => {
        if (files.length === 0) return { role, content }
        const parts = await Promise.all(files.map((path) => this.read(path, signal)))
        return { role, content: content === '' ? parts : [...parts, { type: 'text', text: content }] }
      }),
    )
  }
}

/**
 * Returns a file as a part of a message: a picture, or a text with the name of the file.
 *
 * @throws Error with the reason why the file cannot be attached
 */
export async function partOf(name: string, content: Blob): Promise<Part> {
  const isPicture = /^image\/(?!svg)/.test(content.type)
  const most = isPicture ? mostPicture : mostText
  if (content.size > most) throw new Error(texts.chat.tooLarge(shownName(name), bytesText(most)))
  if (isPicture) return { type: 'image', url: await pictureUrl(name, content) }
  const text = textIn(await content.arrayBuffer())
  if (text === null) throw new Error(texts.chat.neitherTextNorPicture(shownName(name)))
  return { type: 'text', text: `${texts.chat.fileInMessage(name)}\n\n${text}` }
}

/** Returns bytes as a text; `null` if they are none. */
function textIn(bytes: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

/** Returns a picture as a `data:` URL. It is drawn anew, so neither the place nor the camera in the file leaves the node. */
async function pictureUrl(name: string, content: Blob): Promise<string> {
  try {
    const picture = await createImageBitmap(content)
    const scale = Math.min(1, longestSide / Math.max(picture.width, picture.height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.max(1, Math.round(picture.width * scale))
    canvas.height = Math.max(1, Math.round(picture.height * scale))
    const context = canvas.getContext('2d')
    if (context === null) throw new Error('The browser draws no pictures.')
    // JPEG has no transparency.
    context.fillStyle = 'white'
    context.fillRect(0, 0, canvas.width, canvas.height)
    context.drawImage(picture, 0, 0, canvas.width, canvas.height)
    picture.close()
    return canvas.toDataURL('image/jpeg', jpegQuality)
  } catch {
    throw new Error(texts.chat.unreadablePicture(shownName(name)))
  }
}
