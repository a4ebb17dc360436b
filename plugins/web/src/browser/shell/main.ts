import { render, type VNode } from 'preact'
import { EmptyState } from '../empty-state.ts'
import { html } from '../html.ts'
import { Dialog, Questions } from '../questions.ts'
import * as texts from '../texts.ts'
import { isAway, wasAway } from './connection.ts'
import { FirstSteps } from './first-steps.ts'
import { AttentionBadge } from './frame/attention-badge.ts'
import { PersonMenu } from './frame/person-menu.ts'
import { Product } from './frame/product.ts'
import { SearchField } from './frame/search-field.ts'
import { SideBar } from './frame/side-bar.ts'
import { hasServiceWorker } from './kept-shell.ts'
import { LateSignIn } from './late-sign-in.ts'
import { nodeName } from './node-name.ts'
import { Notices, noticeFailure } from './notices.ts'
import { PageHost, shownPage } from './page-host.ts'
import { loadSession, session, signInAgain } from './session.ts'

function Shell(): VNode {
  const again = signInAgain.value
  return html`
    <a class="skip" href="#content" onClick=${skip}>${texts.shell.skip}</a>
    <p class="away" role="status">${isAway.value && texts.shell.away}</p>
    ${session.value && html`<${SideBar} pages=${session.value.pages} />`}
    <${Top} />
    <${FirstSteps} />
    <${Content} />
    <${Notices} />
    <${Questions} />
    ${
      again &&
      html`<${Dialog} title=${texts.signIn.againTitle} onClose=${() => again.end(false)}>
        <p>${texts.signIn.again}</p>
        <${LateSignIn} again />
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

/** The line on top. */
function Top(): VNode {
  const current = session.value
  return html`<header class="top">
    <${Product} />
    ${current?.search && html`<${SearchField} />`}
    ${
      current &&
      html`<div class="end">
        ${current.user.owner && html`<${AttentionBadge} />`}
        <${PersonMenu} user=${current.user} pages=${current.pages} />
      </div>`
    }
  </header>`
}

function Content(): VNode {
  const current = session.value
  if (current === undefined) {
    const { loading, awayTitle, awayText } = texts.shell
    return html`<main id="content">
      ${
        isAway.value
          ? html`<h1 class="unseen">${nodeName.value}</h1><${EmptyState} icon="wifi-off" title=${awayTitle} text=${awayText} />`
          : html`<p class="hint">${loading}</p>`
      }
    </main>`
  }
  if (current === null) {
    return html`<main id="content" tabindex="-1" class="narrow"><${LateSignIn} /></main>`
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
