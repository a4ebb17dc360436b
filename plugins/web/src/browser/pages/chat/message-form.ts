import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import type { Chats } from './chats.ts'
import type { Conversation } from './conversation.ts'

interface MessageFormProps {
  readonly chats: Chats
  readonly conversation: Conversation
  readonly onSend: () => void
}

/** The field for the next message, the choice of the model, and the button that sends or stops. */
export function MessageForm({ chats, conversation, onSend }: MessageFormProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null)
  const isReplying = conversation.reply.value !== null
  const model = chats.model.value
  const submit = (event: Event) => {
    event.preventDefault()
    field.current?.focus()
    if (isReplying) conversation.stop()
    else send()
  }
  const send = () => {
    if (isReplying || model === '' || conversation.isLoading.value || conversation.draft.value.trim() === '')
      return
    onSend()
    void conversation.send(model).then(() => {
      if (!conversation.isBusy) void chats.refresh()
    })
  }
  const press = (event: KeyboardEvent) => {
    // On a screen keyboard there is no Shift+Enter, and an input method ends a word with Enter.
    if (
      event.key !== 'Enter' ||
      event.shiftKey ||
      event.isComposing ||
      matchMedia('(pointer: coarse)').matches
    )
      return
    event.preventDefault()
    send()
  }
  return html`<form class="message" onSubmit=${submit}>
    <label>
      <span>${texts.chat.message}</span>
      <textarea
        ref=${field}
        rows="2"
        value=${conversation.draft.value}
        aria-describedby="chat-keys"
        onInput=${({ target }: InputEvent) => conversation.type((target as HTMLTextAreaElement).value)}
        onKeyDown=${press}
      ></textarea>
    </label>
    <div class="tools">
      <${ModelChoice} chats=${chats} />
      <p id="chat-keys" class="hint keys">${texts.chat.keys}</p>
      <button type="submit" class="main">${isReplying ? texts.chat.stop : texts.chat.send}</button>
    </div>
  </form>`
}

function ModelChoice({ chats }: { chats: Chats }): VNode | null {
  const model = chats.model.value
  const models = chats.models.value ?? []
  if (model === '') return null
  // The model of an old conversation may be gone.
  const all = models.includes(model) ? models : [model, ...models]
  const providers = Map.groupBy(all, (name) => name.split('/', 1)[0] ?? '')
  const choose = ({ target }: Event) => chats.chooseModel((target as HTMLSelectElement).value)
  return html`<label class="model">
    <span>${texts.chat.model}</span>
    <select onChange=${choose}>
      ${[...providers].map(
        ([provider, names]) => html`<optgroup key=${provider} label=${provider}>
          ${names.map(
            (name) =>
              html`<option key=${name} value=${name} selected=${name === model}>${name.slice(provider.length + 1)}</option>`,
          )}
        </optgroup>`,
      )}
    </select>
  </label>`
}
