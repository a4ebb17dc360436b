import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { nameOf, previewAddress } from './paths.ts'
import { mayHavePreview, type Previews } from './previews.ts'

interface SmallPreviewProps {
  readonly path: string
  readonly isFile: boolean
  readonly previews: Previews
}

/** The preview of a file beside its name. Its box is there before it, and without it, so that nothing moves. */
export function SmallPreview({ path, isFile, previews }: SmallPreviewProps): VNode {
  const isMissing = useSignal(false)
  const isShown = isFile && previews.areThere.value === true && mayHavePreview(path) && !isMissing.value
  return html`<span class="small-preview">
    ${
      isShown &&
      html`<img
        src=${previewAddress(path, 'small')}
        alt=${texts.files.previewOf(shownName(nameOf(path)))}
        loading="lazy"
        onError=${() => {
          isMissing.value = true
        }}
      />`
    }
  </span>`
}
