import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import { titleOf } from './chat-files.ts'
import type { Chats } from './chats.ts'

/** The conversations that are shown at first, and with each click on "older". */
const shownAtOnce = 50

/** The list of conversations. On a small screen it opens and closes. */
export function ChatList({ chats, page }: { chats: Chats; page: PageContext }): VNode {
  const count = useSignal(shownAtOnce)
  const isWide = matchMedia('(min-width: 60rem)').matches
  const isOpen = useSignal(isWide)
  const list = chats.list.value
  const conversation = chats.current.value
  const current = conversation.name.value
  const shown = useRef(conversation)
  useEffect(() => {
    if (shown.current !== conversation && !isWide) isOpen.value = false
    shown.current = conversation
  }, [conversation])
  const toggle = ({ target }: Event) => {
    isOpen.value = (target as HTMLDetailsElement).open
  }
  const begin = () => {
    chats.begin()
    page.navigate('/chat')
  }
  return html`<details class="list" open=${isOpen.value} onToggle=${toggle}>
    <summary>${texts.chat.list}</summary>
    <button type="button" onClick=${begin}>${texts.chat.new}</button>
    <ul>
      ${list?.slice(0, count.value).map(
        ({ name }) => html`<li key=${name}>
          <a href=${`#/chat/${encodeURIComponent(name)}`} aria-current=${name === current && 'page'}>${titleOf(name)}</a>
        </li>`,
      )}
    </ul>
    ${list?.length === 0 && html`<p class="hint">${texts.chat.noChats}</p>`}
    ${
      (list?.length ?? 0) > count.value &&
      html`<button type="button" onClick=${() => {
        count.value += shownAtOnce
      }}>${texts.chat.older}</button>`
    }
  </details>`
}
