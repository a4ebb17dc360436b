import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { chatAddress, titleOf } from '../../chat-address.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { useMedia } from '../../media.ts'
import * as texts from '../../texts.ts'
import type { Chats } from './chats.ts'
import { dateGroup } from './date-group.ts'

/** The conversations that are shown at first, and with each click on "older". */
const shownAtOnce = 50

/** The list of conversations. On a small screen it opens and closes. */
export function ChatList({ chats, page }: { chats: Chats; page: PageContext }): VNode {
  const count = useSignal(shownAtOnce)
  const isWide = useMedia('(min-width: 60rem)')
  const isOpen = useSignal(isWide)
  useLayoutEffect(() => {
    isOpen.value = isWide
  }, [isWide])
  const list = chats.list.value
  const conversation = chats.current.value
  const current = conversation.name.value
  const shown = useRef(conversation)
  useLayoutEffect(() => {
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
  const found = chats.search.found(list ?? [])
  const groups = Map.groupBy(found.slice(0, count.value), ({ modified }) => dateGroup(modified))
  return html`<details class="list" open=${isOpen.value} onToggle=${toggle}>
    <summary>${texts.chat.list}</summary>
    <button type="button" class="new" onClick=${begin}>${icon('square-pen')} ${texts.chat.new}</button>
    ${
      list !== null &&
      list.length > 0 &&
      html`<input
        type="search"
        aria-label=${texts.chat.search}
        placeholder=${texts.chat.search}
        value=${chats.search.text.value}
        onInput=${({ target }: InputEvent) => chats.search.type((target as HTMLInputElement).value)}
      />`
    }
    ${[...groups].map(
      ([title, members]) => html`<div key=${title}>
        <h2>${title}</h2>
        <ul aria-label=${title}>
          ${members.map(
            ({ name }) => html`<li key=${name}>
              <a href=${chatAddress(name)} aria-current=${name === current && 'page'}>${titleOf(name)}</a>
            </li>`,
          )}
        </ul>
      </div>`,
    )}
    <p class="hint" role="status">${emptyText(list?.length, found.length)}</p>
    ${
      found.length > count.value &&
      html`<button type="button" onClick=${() => {
        count.value += shownAtOnce
      }}>${texts.chat.older}</button>`
    }
  </details>`
}

/** @param all the number of conversations; `undefined` until the node has answered */
function emptyText(all: number | undefined, found: number): string {
  if (all === undefined || found > 0) return ''
  return all === 0 ? texts.chat.noChats : texts.chat.noneFound
}
