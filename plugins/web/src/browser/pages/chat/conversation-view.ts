import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { titleOf } from '../../chat-address.ts'
import { copyText } from '../../copy-text.ts'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { type IconName, icon } from '../../icon.ts'
import { ask } from '../../questions.ts'
import { reasonOf } from '../../request.ts'
import * as texts from '../../texts.ts'
import { SentFiles } from './attachment-list.ts'
import { type Message, titleFrom } from './chat-files.ts'
import type { Chats } from './chats.ts'
import type { Conversation } from './conversation.ts'
import { Markdown } from './markdown.ts'
import { isSendKey, MessageForm } from './message-form.ts'
import { modelName } from './model-name.ts'
import { useStickToBottom } from './stick-to-bottom.ts'
import { StreamingMarkdown } from './streaming-markdown.ts'

interface ConversationViewProps {
  readonly chats: Chats
  readonly conversation: Conversation
  readonly page: PageContext
  /** Whether the person came from another conversation. */
  readonly hasChanged: boolean
  /** Stands before the messages, where nothing else moves when it comes. */
  readonly children?: ComponentChildren
}

/** One conversation, with what can be done. */
export function ConversationView(props: ConversationViewProps): VNode {
  const { chats, conversation, page, hasChanged, children } = props
  const { element, onScroll, toEnd } = useStickToBottom()
  const name = conversation.name.value
  const messages = conversation.messages.value
  const isReplying = conversation.reply.value !== null
  const isDragged = useSignal(false)
  const last = messages.at(-1)
  const retry = () => {
    toEnd()
    void conversation.retry(chats.model.value)
  }
  const canAsk = !isReplying && !conversation.isLoading.value && chats.model.value !== ''
  const isComplete = last?.role === 'assistant' && last.incomplete !== true
  const title = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    // A focus in the field would open the keyboard of a phone.
    const isPhone = matchMedia('(pointer: coarse)').matches
    const field = title.current?.closest('.conversation')?.querySelector('textarea')
    if (hasChanged) (isPhone ? title.current : field)?.focus()
  }, [])
  const dragOver = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    isDragged.value = true
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    isDragged.value = false
    void conversation.attachments.add([...(event.dataTransfer?.files ?? [])])
  }
  const leave = ({ currentTarget, relatedTarget }: DragEvent) => {
    if (!(currentTarget as Element).contains(relatedTarget as Node | null)) isDragged.value = false
  }
  return html`<div class="conversation" onDragOver=${dragOver} onDragLeave=${leave} onDrop=${drop}>
    <div class="head">
      <h1 ref=${title} tabindex="-1">${name === null ? texts.chat.newTitle : titleOf(name)}</h1>
      <${FileButtons} chats=${chats} conversation=${conversation} page=${page} />
    </div>
    <div class="messages" role="region" aria-label=${texts.chat.messages} tabindex="0" ref=${element} onScroll=${onScroll}>
      <div>
        ${children}
        ${conversation.isLoading.value && html`<p class="hint">${texts.shell.loading}</p>`}
        ${messages.length === 0 && name === null && html`<${Beginning} chats=${chats} />`}
        ${messages.map(
          (message, i) =>
            html`<${MessageView} key=${i} index=${i} message=${message} chats=${chats} conversation=${conversation} canAsk=${canAsk} />`,
        )}
        ${isReplying && html`<${Reply} chats=${chats} conversation=${conversation} />`}
        <p class="fault" role="alert">${conversation.replyFault.value}</p>
        ${last?.incomplete && !isReplying && html`<p class="hint">${texts.chat.incomplete}</p>`}
        ${last?.role === 'user' && !isReplying && conversation.replyFault.value === '' && html`<p class="hint">${texts.chat.noReply}</p>`}
        ${
          last !== undefined &&
          canAsk &&
          html`<button type="button" class=${isComplete ? 'quiet' : ''} onClick=${retry}>
            ${icon('refresh-cw')} ${isComplete ? texts.chat.regenerate : texts.chat.retry}
          </button>`
        }
      </div>
    </div>
    <${Announcement} conversation=${conversation} />
    <p class="fault" role="alert">${conversation.fileFault.value}</p>
    ${
      conversation.fileFault.value !== '' &&
      messages.length > 0 &&
      html`<button type="button" onClick=${() => conversation.save()}>${texts.chat.storeAgain}</button>`
    }
    <${MessageForm} chats=${chats} conversation=${conversation} page=${page} onSend=${toEnd} />
    ${isDragged.value && html`<p class="drop">${texts.chat.drop}</p>`}
  </div>`
}

/** Fills a conversation without messages. */
function Beginning({ chats }: { chats: Chats }): VNode | null {
  const model = chats.model.value
  if (model === '') return null
  const text = texts.chat.beginText(modelName(model, chats.models.value ?? []))
  return html`<${EmptyState} icon="message-square" title=${texts.chat.begin} text=${text} />`
}

function FileButtons({ chats, conversation, page }: Omit<ConversationViewProps, 'hasChanged'>): VNode {
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      page.notice(reasonOf(error), 'error')
    }
    await chats.refresh()
  }
  const rename = async () => {
    const value = titleOf(conversation.name.value ?? '')
    const title = await ask({
      title: texts.chat.renameTitle,
      field: { label: texts.chat.title, value },
      agree: texts.chat.rename,
      check: (text) => (titleFrom(text) === '' ? texts.chat.emptyTitle : null),
    })
    if (title !== null && title !== value) await attempt(() => conversation.rename(title))
  }
  const agrees = async (name: string) => {
    const title = texts.chat.deleteTitle(titleOf(name))
    return (
      (await ask({ title, text: texts.chat.deleteText, agree: texts.chat.delete, danger: true })) !== null
    )
  }
  const remove = async () => {
    const name = conversation.name.value
    if (name === null || (!chats.hasTrash && !(await agrees(name)))) return
    await attempt(async () => {
      const group = await conversation.delete()
      chats.begin()
      page.navigate('/chat')
      const undo = group !== null && { label: texts.files.undo, run: () => void chats.takeBack(name, group) }
      page.notice(texts.chat.deleted, 'done', undo || undefined)
    })
  }
  // The buttons keep their place while there is no file yet, so that its arrival moves nothing that a person reads.
  const disabled = conversation.name.value === null
  const button = (label: string, name: IconName, click: () => Promise<void>) =>
    html`<button type="button" class="quiet icon-only" aria-label=${label} title=${label} disabled=${disabled} onClick=${click}>
      ${icon(name)}
    </button>`
  return html`${button(texts.chat.rename, 'pencil', rename)}${button(texts.chat.delete, 'trash-2', remove)}`
}

interface MessageViewProps {
  readonly message: Message
  /** Its place in the conversation. */
  readonly index: number
  readonly chats: Chats
  readonly conversation: Conversation
  /** Whether a model can be asked now. */
  readonly canAsk: boolean
}

function MessageView({ message, index, chats, conversation, canAsk }: MessageViewProps): VNode {
  const { role, content, model, files = [] } = message
  const isEdited = useSignal(false)
  const edit = () => {
    isEdited.value = true
  }
  const done = (question: string | null) => {
    isEdited.value = false
    if (question !== null) void conversation.edit(index, question, chats.model.value)
  }
  const author =
    role === 'assistant' && model !== undefined
      ? modelName(model, chats.models.value ?? [])
      : texts.chat.author[role]
  return html`<article class=${role} aria-label=${author}>
    <div class="byline">
      <p class="author">${author}</p>
      ${
        // It keeps its place while a reply comes in, so that its end moves nothing that a person reads.
        role === 'user' &&
        !isEdited.value &&
        html`<button type="button" class="quiet icon-only" aria-label=${texts.chat.edit} title=${texts.chat.edit} disabled=${!canAsk} onClick=${edit}>
          ${icon('pencil')}
        </button>`
      }
    </div>
    <${SentFiles} paths=${files} />
    ${
      isEdited.value
        ? html`<${QuestionForm} question=${content} onDone=${done} />`
        : role === 'assistant'
          ? html`<${Markdown} text=${content} /><${CopyButton} text=${content} />`
          : html`<p class="plain">${content}</p>`
    }
  </article>`
}

/** Copies a reply as the model wrote it. Where the browser has no clipboard, it copies the reply as it is shown. */
function CopyButton({ text }: { text: string }): VNode {
  const element = useRef<HTMLButtonElement>(null)
  const told = useSignal('')
  const copy = async () => {
    const shown = element.current?.parentElement?.querySelector<HTMLElement>('.markdown') ?? null
    told.value = (await copyText(text, shown)) ? texts.copied : texts.selected
  }
  const { copyReply } = texts.chat
  return html`<button type="button" class="quiet icon-only copy" ref=${element} aria-label=${copyReply} title=${copyReply} onClick=${copy}>
      ${icon(told.value === texts.copied ? 'check' : 'copy')}
    </button>
    <span class="note" role="status">${told.value}</span>`
}

interface QuestionFormProps {
  readonly question: string
  /** Called with the changed question, or with `null` if the person cancels. */
  readonly onDone: (question: string | null) => void
}

/** A question that is changed in its place. */
function QuestionForm({ question, onDone }: QuestionFormProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    field.current?.focus()
    field.current?.setSelectionRange(question.length, question.length)
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    const value = field.current?.value ?? ''
    if (value.trim() !== '') onDone(value)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onDone(null)
    else if (isSendKey(event)) submit(event)
  }
  return html`<form onSubmit=${submit}>
    <textarea ref=${field} rows="2" aria-label=${texts.chat.editLabel} defaultValue=${question} onKeyDown=${press}></textarea>
    <p class="buttons">
      <button type="button" onClick=${() => onDone(null)}>${texts.cancel}</button>
      <button type="submit" class="main">${texts.chat.askAgain}</button>
    </p>
  </form>`
}

/** The reply that comes in. */
function Reply({ chats, conversation }: Pick<ConversationViewProps, 'chats' | 'conversation'>): VNode {
  const { model = '', content = '' } = conversation.reply.value ?? {}
  const author = modelName(model, chats.models.value ?? [])
  return html`<article class="assistant" aria-label=${author} aria-busy="true">
    <div class="byline"><p class="author">${author}</p></div>
    <${StreamingMarkdown} text=${content} />
    <p class="hint">${texts.chat.writing}</p>
  </article>`
}

/** Programs that read the screen aloud read a reply when it is complete, not each piece of it. */
function Announcement({ conversation }: { conversation: Conversation }): VNode {
  const said = useRef<HTMLParagraphElement>(null)
  const wasReplying = useRef(false)
  const isReplying = conversation.reply.value !== null
  useLayoutEffect(() => {
    if (said.current === null || isReplying === wasReplying.current) return
    wasReplying.current = isReplying
    const { role, content } = conversation.messages.peek().at(-1) ?? {}
    said.current.textContent = isReplying
      ? texts.chat.writing
      : ((role === 'assistant' ? content : undefined) ?? '')
  }, [isReplying])
  return html`<p class="unseen" aria-live="polite" ref=${said}></p>`
}
