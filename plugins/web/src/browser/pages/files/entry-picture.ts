import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { iconOf } from './entry-icon.ts'
import { kindOf } from './entry-kind.ts'
import type { Entry } from './listing.ts'
import { previewAddress } from './paths.ts'
import { mayHavePreview, type Previews } from './previews.ts'

interface EntryPictureProps {
  readonly entry: Pick<Entry, 'name' | 'type'>
  readonly path: string
  readonly size: 'small' | 'medium'
  readonly previews: Previews
}

/** The preview of a file, or the icon of its kind. Its box is there before it, so that nothing moves. */
export function EntryPicture({ entry, path, size, previews }: EntryPictureProps): VNode {
  const isMissing = useSignal(false)
  const kind = kindOf(entry)
  const isShown =
    entry.type === 'file' &&
    previews.areThere.value === true &&
    mayHavePreview(entry.name) &&
    !isMissing.value
  return html`<span class=${`picture ${kind}`}>
    ${
      isShown
        ? html`<img
            src=${previewAddress(path, size)}
            alt=${texts.files.previewOf(shownName(entry.name))}
            loading="lazy"
            decoding="async"
            draggable=${false}
            onError=${() => {
              isMissing.value = true
            }}
          />`
        : icon(iconOf(kind))
    }
  </span>`
}
