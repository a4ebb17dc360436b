import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { Dialog } from '../../questions.ts'
import { reasonOf } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { MarkdownView } from './markdown-view.ts'
import { nameOf } from './paths.ts'
import { type EditedText, keepEdit, saveText } from './text-edit.ts'
import type { ViewedFile } from './viewed-file.ts'

const words = texts.editor

/** Milliseconds after the last key until the tab keeps the text. */
const keepMs = 300

interface TextEditorProps {
  readonly start: EditedText
  /** The text of the file. */
  readonly stored: string
  readonly name: string
  readonly file: { readonly path: string; readonly viewed: ViewedFile }
  readonly page: PageContext
  /** Called with what is stored when the person has finished. */
  readonly onClose: (saved: EditedText) => void
}

/** Changes a text. What is not saved is kept in the tab, and the person is asked before the text goes away. */
export function TextEditor({ start, stored, name, file, page, onClose }: TextEditorProps): VNode {
  const { path, viewed } = file
  const field = useRef<HTMLTextAreaElement>(null)
  const saved = useSignal<EditedText>({ text: stored, etag: start.etag })
  const text = useSignal(start.text)
  const fault = useSignal('')
  const told = useSignal(start.text === stored ? '' : words.restored)
  const isBusy = useSignal(false)
  const isPreview = useSignal(false)
  const leaves = useSignal<((may: boolean) => void) | null>(null)
  const isDirty = text.value !== saved.value.text

  /** Resolves to whether the file has the text. */
  const save = async (): Promise<boolean> => {
    if (isBusy.value) return false
    isBusy.value = true
    fault.value = ''
    try {
      const done = await saveText(page, path, { text: text.value, etag: saved.value.etag })
      saved.value = { text: done.text, etag: done.etag }
      told.value = words.saved
      if (text.value === done.text) keepEdit(path, null)
      if (done.path === path) return true
      await showCopy(done.path)
      return false
    } catch (error) {
      fault.value = shownName(reasonOf(error))
      return false
    } finally {
      isBusy.value = false
    }
  }
  const showCopy = async (copy: string) => {
    page.notice(words.conflict(shownName(nameOf(path)), shownName(nameOf(copy))), 'error')
    viewed.mayLeave = null
    keepEdit(path, null)
    await viewed.step(copy)
  }
  const mayLeave = () =>
    new Promise<boolean>((resolve) => {
      leaves.value?.(false)
      leaves.value = (may) => {
        leaves.value = null
        resolve(may)
      }
    })
  const discard = () => {
    text.value = saved.value.text
    keepEdit(path, null)
  }
  const close = async () => {
    if (isDirty && !(await mayLeave())) return
    onClose(saved.value)
  }

  useLayoutEffect(() => {
    field.current?.focus()
    return () => leaves.value?.(false)
  }, [])
  useLayoutEffect(() => {
    viewed.mayLeave = isDirty ? mayLeave : null
    if (!isDirty) return
    viewed.onChange(path)
    const stay = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', stay)
    return () => {
      removeEventListener('beforeunload', stay)
      viewed.mayLeave = null
    }
  }, [isDirty])
  useLayoutEffect(() => {
    if (!isDirty) return
    const keep = () => keepEdit(path, { text: text.peek(), etag: saved.peek().etag })
    const timer = setTimeout(keep, keepMs)
    addEventListener('pagehide', keep)
    return () => {
      clearTimeout(timer)
      removeEventListener('pagehide', keep)
      // Another page takes the place of this one.
      if (text.peek() !== saved.peek().text && !page.signedOut.aborted) keep()
    }
  }, [text.value, isDirty])

  const type = () => {
    text.value = withLineEnds(field.current?.value ?? '', stored)
    told.value = ''
  }
  const key = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return
    event.preventDefault()
    void save()
  }
  const isMarkdown = /\.(md|markdown)$/i.test(name)
  const toggle = () => {
    isPreview.value = !isPreview.value
  }
  return html`<div class="sheet editor" onKeyDown=${key}>
    <p class="bar">
      <span class="hint" role="status">${isDirty ? told.value || words.unsaved : told.value}</span>
      ${
        isMarkdown &&
        html`<button type="button" class="quiet" aria-pressed=${isPreview.value} onClick=${toggle}>${icon('eye')}${words.preview}</button>`
      }
      <button type="button" onClick=${close}>${words.finish}</button>
      <button type="button" class="main" aria-disabled=${isBusy.value || !isDirty} onClick=${save}>${icon('save')}${words.save}</button>
    </p>
    <p class="fault" role="alert">${fault.value}</p>
    ${
      isPreview.value
        ? html`<div class="scroll" tabindex="0" role="region" aria-label=${words.preview}><${MarkdownView} text=${text.value} /></div>`
        : html`<textarea
            ref=${field}
            aria-label=${words.textOf(name)}
            dir="auto"
            spellcheck=${isMarkdown || /\.txt$/i.test(name)}
            defaultValue=${text.peek()}
            onInput=${type}
          ></textarea>`
    }
    ${leaves.value !== null && html`<${LeaveDialog} name=${name} save=${save} discard=${discard} answer=${leaves.value} />`}
  </div>`
}

interface LeaveDialogProps {
  readonly name: string
  readonly save: () => Promise<boolean>
  readonly discard: () => void
  readonly answer: (may: boolean) => void
}

/** Asks before a text that is not saved goes away. */
function LeaveDialog({ name, save, discard, answer }: LeaveDialogProps): VNode {
  const saveAndLeave = async () => answer(await save())
  const leave = () => {
    discard()
    answer(true)
  }
  return html`<${Dialog} title=${words.leaveTitle(name)} onClose=${() => answer(false)}>
    <p>${words.leaveText}</p>
    <p class="buttons">
      <button type="button" class="quiet" onClick=${leave}>${words.discard}</button>
      <button type="button" onClick=${() => answer(false)}>${words.goOn}</button>
      <button type="button" class="main" autofocus onClick=${saveAndLeave}>${words.save}</button>
    </p>
  <//>`
}

/** A field has lines that end in LF. Returns its text with the ends that the stored one has. */
function withLineEnds(text: string, stored: string): string {
  return stored.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text
}
