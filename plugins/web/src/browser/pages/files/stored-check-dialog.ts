import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { useMedia } from '../../media.ts'
import { Dialog } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { chosenFiles } from './dropped-files.ts'
import type { EntryActions } from './entry-actions.ts'
import type { CheckState, StoredCheck } from './stored-check.ts'

/** The most files that are named. */
const mostShown = 200

interface StoredCheckProps {
  readonly check: StoredCheck
  readonly actions: EntryActions
}

/** The question whether a folder of this device is stored, its progress, and its answer. */
export function StoredCheckDialog({ check, actions }: StoredCheckProps): VNode | null {
  if (!check.isOpen.value) return null
  return html`<${Dialog} title=${texts.check.title} onClose=${() => check.close()}>
    <div class="check"><${Content} check=${check} actions=${actions} /></div>
  <//>`
}

function Content({ check, actions }: StoredCheckProps): VNode {
  const state = check.state.value
  const close = html`<button type="button" onClick=${() => check.close()}>${texts.close}</button>`
  if (state.is === 'choosing') return html`<${Choice} check=${check} />`
  if ('progress' in state) return html`<${Progress} check=${check} state=${state} />`
  const again = html`<button type="button" onClick=${() => check.again()}>${texts.check.again}</button>`
  if (state.is === 'failed')
    return html`<p class="fault" role="alert">${state.reason}</p><p class="buttons">${close}${again}</p>`
  const missing = check.missing.value
  const canUpload = missing.some(({ content }) => content instanceof File)
  return html`<p role="status" class="outcome">${state.sentence}</p>
    ${
      missing.length > 0 &&
      html`<ul aria-label=${texts.check.missing} tabindex="0">
        ${missing
          .slice(0, mostShown)
          .map(
            ({ path, reason }) =>
              html`<li key=${path}><bdi class="name">${shownName(path)}</bdi><span class="hint">${reason}</span></li>`,
          )}
      </ul>
      <p class="hint">${missing.length > mostShown && texts.check.more(missing.length - mostShown)}</p>`
    }
    <p class="buttons">
      ${close}${again}
      ${canUpload && html`<button type="button" class="main" onClick=${() => actions.uploadMissing(check)}>${texts.check.upload}</button>`}
    </p>`
}

function Choice({ check }: Pick<StoredCheckProps, 'check'>): VNode {
  // A finger drops nothing.
  const isPointed = useMedia('(hover: hover)')
  const files = useRef<HTMLInputElement>(null)
  const folders = useRef<HTMLInputElement>(null)
  const choose = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    void check.start(chosenFiles(field.files ?? []))
  }
  return html`<p>${texts.check.explained}</p>
    ${isPointed && html`<p class="target">${texts.check.dropHere}</p>`}
    <p class="buttons">
      <button type="button" onClick=${() => check.close()}>${texts.cancel}</button>
      <button type="button" onClick=${() => files.current?.click()}>${texts.check.chooseFiles}</button>
      <button type="button" class="main" onClick=${() => folders.current?.click()}>${texts.check.chooseFolder}</button>
    </p>
    <input type="file" multiple hidden ref=${files} onChange=${choose} aria-label=${texts.check.chooseFiles} />
    <input type="file" webkitdirectory hidden ref=${folders} onChange=${choose} aria-label=${texts.check.chooseFolder} />`
}

interface ProgressProps extends Pick<StoredCheckProps, 'check'> {
  readonly state: Extract<CheckState, { is: 'running' | 'paused' }>
}

function Progress({ check, state: { is, progress } }: ProgressProps): VNode {
  const { files, allFiles, bytes, allBytes } = progress
  const isPaused = is === 'paused'
  const share = allBytes === 0 ? files / Math.max(1, allFiles) : bytes / allBytes
  return html`<progress max="1" value=${share} aria-label=${texts.check.title}></progress>
    <p class="hint">${texts.check.progress(files, allFiles, bytesText(bytes), bytesText(allBytes))}</p>
    <p class="buttons">
      <button type="button" onClick=${() => check.again()}>${texts.cancel}</button>
      <button type="button" class="main" onClick=${() => (isPaused ? check.resume() : check.pause())}>
        ${isPaused ? texts.check.resume : texts.check.pause}
      </button>
    </p>`
}
