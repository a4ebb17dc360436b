import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import * as texts from '../../texts.ts'
import { MarkdownView } from './markdown-view.ts'
import { type EditedText, keptEdit } from './text-edit.ts'
import { TextEditor } from './text-editor.ts'
import { mostText, type ViewedText } from './viewed-content.ts'
import type { ViewedFile } from './viewed-file.ts'

const words = texts.editor

interface ViewedTextFile {
  readonly path: string
  readonly viewed: ViewedFile
}

interface TextViewProps {
  readonly text: ViewedText
  readonly name: string
  /** Set for the present content of a file, which can be changed. */
  readonly file?: ViewedTextFile | undefined
  readonly page: PageContext
}

/** Returns what the editor begins with; `null` if the text is shown. */
function beginning({ text, etag }: ViewedText, { path, viewed }: ViewedTextFile): EditedText | null {
  if (etag === null) return null
  const isToEdit = viewed.toEdit === path
  viewed.toEdit = null
  return keptEdit(path) ?? (isToEdit ? { text, etag } : null)
}

/** Shows a text, and lets the person change it. A text that was typed and not saved is still there. */
export function TextView({ text: loaded, name, file, page }: TextViewProps): VNode {
  const stored = useSignal({ text: loaded.text, etag: loaded.etag })
  const first = useMemo(() => (file ? beginning(loaded, file) : null), [])
  const edited = useSignal<EditedText | null>(first)
  const isPlain = useSignal(false)
  if (file !== undefined && edited.value !== null) {
    const close = (saved: EditedText) => {
      stored.value = { text: saved.text, etag: saved.etag }
      edited.value = null
    }
    return html`<${TextEditor} start=${edited.value} stored=${stored.value.text} name=${name} file=${file} page=${page} onClose=${close} />`
  }
  const { text, etag } = stored.value
  const isMarkdown = /\.(md|markdown)$/i.test(name)
  const edit = () => {
    if (etag !== null) edited.value = { text, etag }
  }
  const toggle = () => {
    isPlain.value = !isPlain.value
  }
  return html`<div class="sheet">
    ${
      file &&
      html`<p class="bar">
        ${isMarkdown && html`<button type="button" class="quiet" aria-pressed=${isPlain.value} onClick=${toggle}>${icon('file-code')}${words.plain}</button>`}
        ${etag !== null && html`<button type="button" onClick=${edit}>${icon('pencil')}${words.edit}</button>`}
        ${loaded.isCut && html`<span class="hint">${words.tooLong(bytesText(mostText))}</span>`}
        ${etag === null && !loaded.isCut && html`<span class="hint">${words.notUtf8}</span>`}
      </p>`
    }
    ${
      isMarkdown && file && !isPlain.value
        ? html`<div class="scroll" tabindex="0" role="region" aria-label=${name}><${MarkdownView} text=${text} /></div>`
        : html`<pre tabindex="0" dir="auto" aria-label=${name}>${text}</pre>`
    }
    <p class="hint">${text === '' ? texts.files.emptyFile : loaded.isCut && texts.files.cut(bytesText(mostText))}</p>
  </div>`
}
