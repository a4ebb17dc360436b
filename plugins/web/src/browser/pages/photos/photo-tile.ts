import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { contentAddress, previewAddress } from '../files/paths.ts'
import type { Photo } from './photos.ts'

interface PhotoTileProps {
  readonly photo: Photo
  readonly isSelected: boolean
  /** Whether something is selected. Then a click selects, too. */
  readonly isSelecting: boolean
  readonly onOpen: () => void
  readonly onToggle: () => void
  /** Selects all up to this one. */
  readonly onRange: () => void
}

/** A small picture. A click opens it; its box, or a long press, selects it. */
export function PhotoTile(props: PhotoTileProps): VNode {
  const { photo, isSelected, isSelecting, onOpen, onToggle, onRange } = props
  const { path, name, modified, width, height } = photo
  const isMissing = useSignal(false)
  const click = (event: MouseEvent) => {
    event.preventDefault()
    if (event.shiftKey) onRange()
    else if (event.ctrlKey || event.metaKey || isSelecting) onToggle()
    else onOpen()
  }
  const toggle = (event: MouseEvent) => {
    if (event.shiftKey) onRange()
    else onToggle()
  }
  // A finger that stays makes this event, too.
  const contextMenu = (event: Event) => {
    if ((event as PointerEvent).pointerType !== 'touch') return
    event.preventDefault()
    onToggle()
  }
  const shown = shownName(name)
  const small = previewAddress(path, 'small')
  return html`<li class=${isSelected ? 'selected' : ''} onContextMenu=${contextMenu}>
    <a href=${contentAddress(path)} title=${shown} onClick=${click}>
      ${
        isMissing.value
          ? html`<span>${shown}</span>`
          : html`<img
              key=${modified}
              src=${small}
              srcset=${`${small} 1x, ${previewAddress(path, 'medium')} 2x`}
              width=${width}
              height=${height}
              alt=${shown}
              decoding="async"
              draggable=${false}
              onError=${() => {
                isMissing.value = true
              }}
            />`
      }
    </a>
    <label><input type="checkbox" checked=${isSelected} aria-label=${texts.files.of(texts.files.select, shown)} onClick=${toggle} /></label>
  </li>`
}
