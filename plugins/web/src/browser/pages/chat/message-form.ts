import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { FileChooser } from '../../file-chooser.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { MenuButton } from '../../menu.ts'
import { hostText } from '../../model-host.ts'
import * as texts from '../../texts.ts'
import { AttachmentList } from './attachment-list.ts'
import type { Chats } from './chats.ts'
import type { Conversation } from './conversation.ts'
import { modelGroups, modelName } from './model-name.ts'

interface MessageFormProps {
  readonly chats: Chats
  readonly conversation: Conversation
  readonly page: PageContext
  readonly onSend: () => void
}

/** The field for the next message and its files, the choice of the model, and the button that sends or stops. */
export function MessageForm({ chats, conversation, page, onSend }: MessageFormProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null)
  const isReplying = conversation.reply.value !== null
  const model = chats.model.value
  const isWithoutModel = model === '' && chats.models.value !== null
  const submit = (event: Event) => {
    event.preventDefault()
    field.current?.focus()
    if (isReplying) conversation.stop()
    else send()
  }
  const send = () => {
    if (model === '' || !conversation.canSend) return
    onSend()
    void conversation.send(model).then(() => {
      if (!conversation.isBusy) void chats.refresh()
    })
  }
  const press = (event: KeyboardEvent) => {
    if (!isSendKey(event)) return
    event.preventDefault()
    send()
  }
  const paste = (event: ClipboardEvent) => {
    const { files, types } = event.clipboardData ?? {}
    // Programs for texts and tables copy a picture of the text, too.
    if (files === undefined || files.length === 0 || types?.includes('text/plain')) return
    event.preventDefault()
    void conversation.attachments.add([...files])
  }
  return html`<form class="message" onSubmit=${submit}>
    <${AttachmentList} attachments=${conversation.attachments} />
    <label>
      <span class="unseen">${texts.chat.message}</span>
      <textarea
        ref=${field}
        rows="2"
        value=${conversation.draft.value}
        placeholder=${texts.chat.placeholder}
        aria-describedby="chat-keys"
        onInput=${({ target }: InputEvent) => conversation.type((target as HTMLTextAreaElement).value)}
        onKeyDown=${press}
        onPaste=${paste}
      ></textarea>
    </label>
    <div class="tools">
      <${AttachButton} conversation=${conversation} page=${page} />
      <${ModelChoice} chats=${chats} />
      <p id="chat-keys" class=${isWithoutModel ? 'hint' : 'hint keys'}>${isWithoutModel ? texts.chat.cannotSend : texts.chat.keys}</p>
      <button type="submit" class="main" aria-disabled=${isWithoutModel && !isReplying} title=${isWithoutModel ? texts.chat.cannotSend : undefined}>
        ${icon(isReplying ? 'square' : 'send')} ${isReplying ? texts.chat.stop : texts.chat.send}
      </button>
    </div>
    <p class="note host">${hostText(chats.hosts.value[model.split('/', 1)[0] ?? ''])}</p>
  </form>`
}

/** Whether a key sends. On a screen keyboard there is no Shift+Enter, and an input method ends a word with Enter. */
export function isSendKey({ key, shiftKey, isComposing }: KeyboardEvent): boolean {
  return key === 'Enter' && !shiftKey && !isComposing && !matchMedia('(pointer: coarse)').matches
}

/** Attaches files of the device or of the node. */
function AttachButton({ conversation, page }: Pick<MessageFormProps, 'conversation' | 'page'>): VNode {
  const input = useRef<HTMLInputElement>(null)
  const chooser = useMemo(() => new FileChooser(page, texts.chat.chooseFile), [])
  const { attachments } = conversation
  const add = () => {
    const { current } = input
    if (current === null) return
    void attachments.add([...(current.files ?? [])])
    // A file can be chosen again.
    current.value = ''
  }
  const choose = async () => {
    const path = await chooser.choose()
    if (path !== null) await attachments.choose(path)
  }
  const items = [
    { label: texts.chat.ofDevice, icon: 'laptop', run: () => input.current?.click() },
    { label: texts.chat.ofNode, icon: 'folder', run: () => void choose() },
  ]
  return html`
    <${MenuButton} class="quiet icon-only" label=${texts.chat.attach} items=${items}>${icon('paperclip')}<//>
    <input type="file" multiple hidden ref=${input} onChange=${add} />
    <${chooser.View} />
  `
}

function ModelChoice({ chats }: { chats: Chats }): VNode | null {
  const model = chats.model.value
  const models = chats.models.value ?? []
  if (model === '') return null
  // The model of an old conversation may be gone.
  const all = models.includes(model) ? models : [model, ...models]
  const choose = ({ target }: Event) => chats.chooseModel((target as HTMLSelectElement).value)
  return html`<label class="model">
    <span class="unseen">${texts.chat.model}</span>
    <select onChange=${choose}>
      ${modelGroups(all).map(
        (group) => html`<optgroup key=${group.title} label=${group.title}>
          ${group.models.map(
            (name) =>
              html`<option key=${name} value=${name} selected=${name === model}>${modelName(name, all)}</option>`,
          )}
        </optgroup>`,
      )}
    </select>
  </label>`
}
