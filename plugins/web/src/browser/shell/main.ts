import { render, type VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../html.ts'
import { ask, Dialog, Questions } from '../questions.ts'
import { texts } from '../texts.ts'
import { isAway, wasAway } from './connection.ts'
import { hasServiceWorker } from './kept-shell.ts'
import { Notices, notice, noticeFailure } from './notices.ts'
import { PageHost, shownPage } from './page-host.ts'
import { loadSession, session, signInAgain, signOut } from './session.ts'
import { SignIn } from './sign-in.ts'

function Shell(): VNode {
  const again = signInAgain.value
  return html`
    <a class="skip" href="#content" onClick=${skip}>${texts.shell.skip}</a>
    <${Header} />
    <p class="away" role="status">${isAway.value && texts.shell.away}</p>
    <${Content} />
    <${Notices} />
    <${Questions} />
    ${
      again &&
      html`<${Dialog} title=${texts.signIn.againTitle} onClose=${() => again.end(false)}>
        <p>${texts.signIn.again}</p>
        <${SignIn} again />
        <p class="buttons"><button type="button" onClick=${() => again.end(false)}>${texts.cancel}</button></p>
      <//>`
    }
  `
}

/** The address names the page, so the link moves the focus by itself. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

function Header(): VNode {
  const current = session.value
  const links = useRef<HTMLElement>(null)
  // On a phone, the navigation may be wider than the screen.
  useEffect(() => {
    links.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [shownPage.value])
  return html`<header>
    <a class="product" href="#/">${texts.product}</a>
    ${
      current &&
      html`<nav aria-label=${texts.shell.navigation} ref=${links}>
          ${current.pages.map(
            ({ name, title }) =>
              html`<a key=${name} href=${`#/${encodeURIComponent(name)}`} aria-current=${name === shownPage.value?.name ? 'page' : undefined}>${title}</a>`,
          )}
        </nav>
        <span class="user" title=${current.user.wallet}>${current.user.username}</span>
        <button type="button" onClick=${leave}>${texts.shell.signOut}</button>`
    }
  </header>`
}

async function leave(): Promise<void> {
  const { signOut: agree, signOutTitle: title, signOutText: text } = texts.shell
  if (isWorking() && (await ask({ title, text, agree })) === null) return
  try {
    await signOut()
    notice(texts.shell.signedOut)
  } catch (error) {
    noticeFailure(error, texts.shell.requestFailed)
  }
}

/** Asks the pages, as a browser does before a tab closes. */
function isWorking(): boolean {
  return !dispatchEvent(new Event('beforeunload', { cancelable: true }))
}

function Content(): VNode {
  const current = session.value
  if (current === undefined) return html`<main id="content"><p class="hint">${texts.shell.loading}</p></main>`
  if (current === null) {
    document.title = `${texts.signIn.title} · ${texts.product}`
    return html`<main id="content" tabindex="-1" class="narrow"><${SignIn} /></main>`
  }
  const page = shownPage.value
  if (page !== undefined) return html`<${PageHost} key=${page.name} page=${page} user=${current.user} />`
  const text = current.pages.length === 0 ? texts.shell.noPages : texts.shell.noPage
  return html`<main id="content" tabindex="-1" class="narrow"><p>${text}</p></main>`
}

/** Begins. A page that the browser has kept while the node was away gives way to that of the node. */
async function begin(): Promise<void> {
  await loadSession()
  if (wasAway() && hasServiceWorker()) location.reload()
}

render(html`<${Shell} />`, document.body)
begin().catch((error: unknown) => noticeFailure(error, texts.shell.requestFailed))
