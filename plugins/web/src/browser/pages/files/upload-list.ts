import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import { stateText, type Upload, type Uploads } from './uploads.ts'

/** The uploads of this session, with their progress and what can be done. */
export function UploadList({ uploads }: { uploads: Uploads }): VNode | null {
  const list = uploads.list.value
  if (list.length === 0) return null
  return html`<details class="uploads" open>
    <summary>${texts.files.uploads} (${list.filter(({ state }) => state.value.is === 'done').length}/${list.length})</summary>
    <ul>
      ${list.slice(-100).map((upload) => html`<${UploadRow} key=${upload} upload=${upload} uploads=${uploads} />`)}
    </ul>
    <button type="button" onClick=${() => uploads.clear()}>${texts.files.clear}</button>
  </details>`
}

function UploadRow({ upload, uploads }: { upload: Upload; uploads: Uploads }): VNode {
  const state = upload.state.value
  const { name } = upload.file
  const button = (text: string, onClick: () => void) =>
    html`<button type="button" aria-label=${texts.files.of(text, name)} onClick=${onClick}>${text}</button>`
  return html`<li>
    <span class="name">${name}</span>
    ${state.is === 'running' && html`<progress max="100" value=${state.percent} aria-label=${name}></progress>`}
    <span class="state">${stateText(state)}</span>
    ${state.is === 'exists' && button(texts.files.replace, () => uploads.replace(upload))}
    ${state.is === 'exists' && button(texts.files.skip, () => uploads.cancel(upload))}
    ${['waiting', 'running', 'away'].includes(state.is) && button(texts.cancel, () => uploads.cancel(upload))}
  </li>`
}
