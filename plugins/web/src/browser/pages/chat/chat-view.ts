import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { ModelWays } from '../../model-ways.ts'
import * as texts from '../../texts.ts'
import { ChatList } from './chat-list.ts'
import type { Chats } from './chats.ts'
import { ConversationView } from './conversation-view.ts'

/** The list of conversations beside the one that is shown. */
export function ChatView({ chats, page }: { chats: Chats; page: PageContext }): VNode {
  const conversation = chats.current.value
  const first = useRef(conversation)
  const hasChanged = first.current !== conversation
  return html`<section class="chat">
    <${ChatList} chats=${chats} page=${page} />
    <div class="shown">
      <p class="fault" role="alert">${chats.fault.value}</p>
      <${ConversationView} key=${conversation} chats=${chats} conversation=${conversation} page=${page} hasChanged=${hasChanged}>
        ${chats.models.value?.length === 0 && html`<${NoModels} chats=${chats} isOwner=${page.user.owner} />`}
      <//>
    </div>
  </section>`
}

/** Milliseconds after which the page asks for models again, if there are none. */
const pauseMs = 10_000

/** Says how a model gets there. Only the owner can connect one. */
function NoModels({ chats, isOwner }: { chats: Chats; isOwner: boolean }): VNode {
  useLayoutEffect(() => {
    const timer = setTimeout(() => void chats.loadModels(), pauseMs)
    return () => clearTimeout(timer)
  }, [chats.models.value])
  return html`<section class="no-models card">
    <h2>${icon('sparkles')} ${texts.chat.noModels}</h2>
    <p>${isOwner ? texts.chat.howToAdd : texts.chat.askOwner}</p>
    ${isOwner && html`<${ModelWays} />`}
    <button type="button" onClick=${() => chats.loadModels()}>${icon('refresh-cw')} ${texts.chat.lookAgain}</button>
  </section>`
}
