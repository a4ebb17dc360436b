import { extname } from 'node:path'
import type { IndexedEntry, PreviewDecoders, Required } from '@nodekeep/plugin-sdk'

const pictures = ['avif', 'gif', 'jfif', 'jpe', 'jpeg', 'jpg', 'png', 'webp']

/** Audio files, which may have a cover picture. */
const sounds = ['flac', 'm4a', 'm4b', 'mp3', 'oga', 'ogg', 'opus']

interface Extensions {
  readonly pictures: ReadonlySet<string>
  readonly sounds: ReadonlySet<string>
}

/**
 * The names of files of which there may be previews. Whether there is one, the content decides: a file with another name gets one when
 * somebody asks.
 */
export class PreviewNames {
  readonly #decoders: Required<typeof PreviewDecoders>
  #extensions: Extensions | undefined

  /** @param decoders those of other plugins, which are all there when the node serves */
  constructor(decoders: Required<typeof PreviewDecoders>) {
    this.#decoders = decoders
  }

  /** In lower case, without the dot. */
  get extensions(): Extensions {
    this.#extensions ??= {
      pictures: new Set([
        ...pictures,
        ...[...this.#decoders].flatMap(([, { extensions = [] }]) => extensions),
      ]),
      sounds: new Set(sounds),
    }
    return this.#extensions
  }

  isPicture(name: string): boolean {
    return this.extensions.pictures.has(extensionOf(name))
  }

  /** Whether a file gets a preview before anybody asks, by its name and its size. */
  mayHavePreview({ type, name, size }: IndexedEntry, maxFileSize: number): boolean {
    const isNamed = this.isPicture(name) || this.extensions.sounds.has(extensionOf(name))
    return type === 'file' && size > 0 && size <= maxFileSize && isNamed
  }
}

function extensionOf(name: string): string {
  return extname(`a${name}`).slice(1).toLowerCase()
}
