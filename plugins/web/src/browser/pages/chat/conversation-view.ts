import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { ask } from '../../questions.ts'
import { reasonOf } from '../../request.ts'
import { texts } from '../../texts.ts'
import { type Message, titleFrom, titleOf } from './chat-files.ts'
import type { Chats } from './chats.ts'
import type { Conversation } from './conversation.ts'
import { Markdown } from './markdown.ts'
import { MessageForm } from './message-form.ts'
import { useStickToBottom } from './stick-to-bottom.ts'
import { StreamingMarkdown } from './streaming-markdown.ts'

interface ConversationViewProps {
  readonly chats: Chats
  readonly conversation: Conversation
  readonly page: PageContext
  /** Whether the person came from another conversation. */
  readonly hasChanged: boolean
}

/** One conversation, with what can be done. */
export function ConversationView({ chats, conversation, page, hasChanged }: ConversationViewProps): VNode {
  const { element, onScroll, toEnd } = useStickToBottom()
  const name = conversation.name.value
  const messages = conversation.messages.value
  const isReplying = conversation.reply.value !== null
  const last = messages.at(-1)
  const retry = () => {
    toEnd()
    void conversation.retry(chats.model.value)
  }
  const canRetry =
    last !== undefined && !isReplying && !conversation.isLoading.value && chats.model.value !== ''
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // A focus in the field would open the keyboard of a phone.
    const isPhone = matchMedia('(pointer: coarse)').matches
    const field = title.current?.closest('.conversation')?.querySelector('textarea')
    if (hasChanged) (isPhone ? title.current : field)?.focus()
  }, [])
  return html`<div class="conversation">
    <div class="head">
      <h1 ref=${title} tabindex="-1">${name === null ? texts.chat.newTitle : titleOf(name)}</h1>
      <${FileButtons} chats=${chats} conversation=${conversation} page=${page} />
    </div>
    <div class="messages" role="region" aria-label=${texts.chat.messages} tabindex="0" ref=${element} onScroll=${onScroll}>
      <div>
        ${conversation.isLoading.value && html`<p class="hint">${texts.shell.loading}</p>`}
        ${messages.map((message, i) => html`<${MessageView} key=${i} message=${message} />`)}
        ${isReplying && html`<${Reply} conversation=${conversation} />`}
        <p class="fault" role="alert">${conversation.replyFault.value}</p>
        ${last?.incomplete && !isReplying && html`<p class="hint">${texts.chat.incomplete}</p>`}
        ${last?.role === 'user' && !isReplying && conversation.replyFault.value === '' && html`<p class="hint">${texts.chat.noReply}</p>`}
        ${canRetry && html`<button type="button" onClick=${retry}>${texts.chat.retry}</button>`}
      </div>
    </div>
    <${Announcement} conversation=${conversation} />
    <p class="fault" role="alert">${conversation.fileFault.value}</p>
    ${
      conversation.fileFault.value !== '' &&
      messages.length > 0 &&
      html`<button type="button" onClick=${() => conversation.save()}>${texts.chat.storeAgain}</button>`
    }
    <${MessageForm} chats=${chats} conversation=${conversation} onSend=${toEnd} />
  </div>`
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
  const remove = async () => {
    const title = texts.chat.deleteTitle(titleOf(conversation.name.value ?? ''))
    const answer = await ask({ title, text: texts.chat.deleteText, agree: texts.chat.delete })
    if (answer === null) return
    await attempt(async () => {
      await conversation.delete()
      chats.begin()
      page.navigate('/chat')
      page.notice(texts.chat.deleted)
    })
  }
  // The buttons keep their place while there is no file yet, so that its arrival moves nothing that a person reads.
  const disabled = conversation.name.value === null
  return html`<button type="button" disabled=${disabled} onClick=${rename}>${texts.chat.rename}</button>
    <button type="button" disabled=${disabled} onClick=${remove}>${texts.chat.delete}</button>`
}

function MessageView({ message }: { message: Message }): VNode {
  const { role, content, model } = message
  const author = role === 'assistant' ? (model ?? texts.chat.author.assistant) : texts.chat.author[role]
  return html`<article class=${role} aria-label=${author}>
    <p class="author">${author}</p>
    ${role === 'assistant' ? html`<${Markdown} text=${content} />` : html`<p class="plain">${content}</p>`}
  </article>`
}

/** The reply that comes in. */
function Reply({ conversation }: { conversation: Conversation }): VNode {
  const { model = '', content = '' } = conversation.reply.value ?? {}
  return html`<article class="assistant" aria-label=${model} aria-busy="true">
    <p class="author">${model}</p>
    <${StreamingMarkdown} text=${content} />
    <p class="hint">${texts.chat.writing}</p>
  </article>`
}

/** Programs that read the screen aloud read a reply when it is complete, not each piece of it. */
function Announcement({ conversation }: { conversation: Conversation }): VNode {
  const said = useRef<HTMLParagraphElement>(null)
  const wasReplying = useRef(false)
  const isReplying = conversation.reply.value !== null
  useEffect(() => {
    if (said.current === null || isReplying === wasReplying.current) return
    wasReplying.current = isReplying
    const { role, content } = conversation.messages.peek().at(-1) ?? {}
    said.current.textContent = isReplying
      ? texts.chat.writing
      : ((role === 'assistant' ? content : undefined) ?? '')
  }, [isReplying])
  return html`<p class="unseen" aria-live="polite" ref=${said}></p>`
}
