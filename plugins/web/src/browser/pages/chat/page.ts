import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { titleOf } from '../../chat-address.ts'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { ChatView } from './chat-view.ts'
import { Chats } from './chats.ts'

/** Replies go on while another page is shown. */
let chats: Chats | null = null

function startChats(page: PageContext): Chats {
  const started = new Chats(page)
  page.signedOut.addEventListener('abort', () => {
    started.end()
    chats = null
  })
  return started
}

/** The page of chats. The address names the file of the conversation: `#/chat/2026-11-23 Title.json`. */
const mount: MountPage = (element, page) => {
  chats ??= startChats(page)
  const shown = chats
  const nameAt = (place: string) => place.slice(1) || null
  page.onPlace((place) => {
    const name = nameAt(place)
    // The conversation that is shown got its name: to read it again would keep the person from sending for a moment.
    if (name !== shown.current.value.name.value) shown.open(name)
  })
  // A person who comes back while a reply comes in sees it. The name of its conversation becomes the address, below.
  if (page.place !== '/' || !shown.current.value.isBusy) shown.open(nameAt(page.place))
  void shown.refresh()
  void shown.loadModels()
  const stop = effect(() => {
    // A new conversation gets its name when it is stored, and may get another one.
    const name = shown.current.value.name.value
    page.setTitle(name === null ? null : titleOf(name))
    if (name === null || name === nameAt(page.place)) return
    page.navigate(`/chat/${name}`)
    void shown.refresh()
  })
  render(html`<${ChatView} chats=${shown} page=${page} /><${Questions} />`, element)
  return () => {
    stop()
    render(null, element)
  }
}

export default mount
