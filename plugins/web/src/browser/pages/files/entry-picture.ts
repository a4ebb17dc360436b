import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { iconOf } from './entry-icon.ts'
import { kindOf } from './entry-kind.ts'
import type { Entry } from './listing.ts'
import { previewAddress } from './paths.ts'
import type { Previews } from './previews.ts'
import type { ScrollSpeed } from './scroll-speed.ts'

interface EntryPictureProps {
  readonly entry: Pick<Entry, 'name' | 'type'>
  readonly path: string
  /** Whether it is larger than the icons of a list. */
  readonly isLarge?: boolean
  readonly previews: Previews
  /** Without it, nothing passes by. */
  readonly speed?: ScrollSpeed
}

/** The preview of a file, or the icon of its kind. Its box is there before it, so that nothing moves. */
export function EntryPicture({ entry, path, isLarge = false, previews, speed }: EntryPictureProps): VNode {
  const isMissing = useSignal(false)
  /** A picture that was shown once stays, however fast the person scrolls then. */
  const wasShown = useRef(false)
  const kind = kindOf(entry)
  // A screen with more dots than CSS pixels shows more of a picture.
  const sharper = isLarge ? `${previewAddress(path, 'medium')} 2x` : undefined
  const isShown =
    entry.type === 'file' &&
    previews.mayHave(entry.name) &&
    !isMissing.value &&
    (wasShown.current || speed?.isFast.value !== true)
  wasShown.current ||= isShown
  return html`<span class=${kind === 'folder' ? 'picture folder' : 'picture'}>
    ${
      isShown
        ? html`<img
            src=${previewAddress(path, 'small')}
            srcset=${sharper}
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
