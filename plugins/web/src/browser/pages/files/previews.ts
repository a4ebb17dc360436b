import { isPreviewedPicture, isPreviewedSound } from '@nodekeep/plugin-sdk/preview-names'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { request } from '../../request.ts'
import { previewAddress } from './paths.ts'

/** Pictures that browsers show without a preview, too. */
const others = /\.(bmp|ico|svg)$/i

/** The previews that the node makes, if it has the plugin for them. */
export class Previews {
  /** Whether the node makes previews; `null` until it has answered. */
  readonly areThere = signal<boolean | null>(null)
  readonly #page: PageContext

  constructor(page: PageContext) {
    this.#page = page
  }

  /** Asks the node. */
  async find(): Promise<void> {
    const { signal } = this.#page
    try {
      // The node answers this fast. Its status counts all files.
      await request(this.#page, 'GET /api/previews/photos', { query: { limit: '1' }, signal })
      this.areThere.value = true
    } catch {
      // The page works without them.
      this.areThere.value = false
    }
  }

  /** Returns the address of what is shown in place of a picture; nothing if that is the picture itself. */
  ofPicture(path: string): string | undefined {
    // A preview does not move.
    const isShown =
      this.areThere.value === true && isPreviewedPicture(path) && !path.toLowerCase().endsWith('.gif')
    return isShown ? previewAddress(path, 'large') : undefined
  }
}

/** Whether a file of this name is a picture that browsers may show. */
export function isPicture(name: string): boolean {
  return isPreviewedPicture(name) || others.test(name)
}

/** Whether a file of this name may have a preview. */
export function mayHavePreview(name: string): boolean {
  return isPreviewedPicture(name) || isPreviewedSound(name)
}
