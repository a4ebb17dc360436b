import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
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
      ${chats.models.value?.length === 0 && html`<${NoModels} chats=${chats} />`}
      <${ConversationView} key=${conversation} chats=${chats} conversation=${conversation} page=${page} hasChanged=${hasChanged} />
    </div>
  </section>`
}

/** Milliseconds after which the page asks for models again, if there are none. */
const pauseMs = 10_000

function NoModels({ chats }: { chats: Chats }): VNode {
  useEffect(() => {
    const timer = setTimeout(() => void chats.loadModels(), pauseMs)
    return () => clearTimeout(timer)
  }, [chats.models.value])
  return html`<section class="no-models">
    <h2>${texts.chat.noModels}</h2>
    <ul>${texts.chat.howToAdd.map((way) => html`<li>${way}</li>`)}</ul>
    <button type="button" onClick=${() => chats.loadModels()}>${texts.chat.lookAgain}</button>
  </section>`
}
