import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import type { CutUploads } from './cut-uploads.ts'
import type { Folder } from './folder.ts'

const words = texts.files.cutUploads

interface CutUploadsLineProps {
  readonly cuts: CutUploads
  readonly folder: Folder
  readonly page: PageContext
}

/** Says which uploads a reload cut short, and lets the person choose their files again. */
export function CutUploadsLine({ cuts, folder, page }: CutUploadsLineProps): VNode | null {
  const files = useRef<HTMLInputElement>(null)
  const folders = useRef<HTMLInputElement>(null)
  const { length } = cuts.list.value
  if (length === 0) return null
  const choose = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    const others = cuts.goOn([...(field.files ?? [])], folder.maxFileSize)
    // Of a folder, most files may have arrived before.
    if (others > 0 && !field.webkitdirectory) page.notice(words.others(others), 'error')
    field.value = ''
  }
  return html`<section class="cut-uploads" aria-label=${words.title}>
    <p role="status">${words.text(length, bytesText(cuts.missing.value))}</p>
    <p class="choices">
      <button type="button" class="main" onClick=${() => files.current?.click()}>${words.chooseFiles}</button>
      <input type="file" multiple hidden ref=${files} onChange=${choose} aria-label=${words.chooseFiles} />
      <button type="button" onClick=${() => folders.current?.click()}>${words.chooseFolder}</button>
      <input type="file" webkitdirectory hidden ref=${folders} onChange=${choose} aria-label=${words.chooseFolder} />
      <button type="button" class="quiet" onClick=${() => cuts.forget()}>${words.forget}</button>
    </p>
  </section>`
}
