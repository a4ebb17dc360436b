import { extensionOf } from '@nodekeep/plugin-sdk/file-kinds'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { request } from '../../request.ts'
import { previewAddress } from './paths.ts'

type Formats = NodeAnswers['GET /api/previews/formats']

/** Pictures that some browser shows without a preview. */
const shownByBrowsers = /\.(avif|bmp|gif|hei[cf]|ico|jfif|jpe|jpe?g|png|svg|webp)$/i

/** The previews that the node makes, if it has the plugin for them. */
export class Previews {
  readonly #page: PageContext
  /** None without the plugin; `null` until the node has answered. */
  readonly #formats = signal<Formats | null>(null)

  constructor(page: PageContext) {
    this.#page = page
  }

  /** Whether it is known which files may have previews. */
  get isKnown(): boolean {
    return this.#formats.value !== null
  }

  /** Asks the node. */
  async find(): Promise<void> {
    const { signal } = this.#page
    try {
      this.#formats.value = await request(this.#page, 'GET /api/previews/formats', { signal })
    } catch {
      // The page works without them.
      this.#formats.value = { pictures: [], sounds: [] }
    }
  }

  /** Whether a file may have a preview, by its name. */
  mayHave(name: string): boolean {
    return this.#has('pictures', name) || this.#has('sounds', name)
  }

  /** Whether a file is a picture that can be shown, by its name. */
  isPicture(name: string): boolean {
    return this.#has('pictures', name) || shownByBrowsers.test(name)
  }

  /** Returns the address of what is shown in place of a picture; nothing if that is the picture itself. */
  ofPicture(path: string): string | undefined {
    // A preview does not move.
    const isShown = this.#has('pictures', path) && extensionOf(path) !== 'gif'
    return isShown ? previewAddress(path, 'large') : undefined
  }

  #has(kind: keyof Formats, name: string): boolean {
    return this.#formats.value?.[kind].includes(extensionOf(name)) === true
  }
}
