import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { ComponentChildren, VNode } from 'preact'
import { Action, headingId } from '../../action.ts'
import { AddressText } from '../../address-text.ts'
import { bytesText } from '../../bytes-text.ts'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { PolledState, usePolled } from '../../polled.ts'
import { publish, publishedAddress, publishedReach } from '../../publications.ts'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import { ReachNote } from '../../sharing/reach-note.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { shortDateText } from '../../times.ts'
import { folderAddress, folderOf, nameOf } from '../files/paths.ts'

type List = NodeAnswers['GET /api/ipfs/publications']
type Publication = List['publications'][number]

const words = texts.publishing

/** The list of what the person has published: its addresses, and whether it is still what is there. */
export function PublishedView({ page }: { page: PageContext }): VNode {
  const polled = usePolled<List>(page, {
    load: (get) => get('GET /api/ipfs/publications'),
    pauseMs: (list) => (list?.publications.some(({ state }) => state === 'adding') ? 1000 : 30_000),
  })
  const list = polled.value.value
  const withdraw = async ({ id, path }: Publication) => {
    const title = words.withdrawTitle(shownName(path))
    if ((await ask({ title, text: words.withdrawText, agree: words.withdraw })) === null) return
    await request(page, 'POST /api/ipfs/withdraw', { body: { id } })
    page.notice(words.withdrawn)
    await polled.refresh()
  }
  const end = async ({ id }: Publication) => {
    await request(page, 'POST /api/ipfs/withdraw', { body: { id } })
    await polled.refresh()
  }
  const again = async ({ path }: Publication) => {
    const published = publish(page, path)
    void polled.refresh()
    try {
      await published
      page.notice(words.done(shownName(path)))
    } finally {
      await polled.refresh()
    }
  }
  const action = (text: string, publication: Publication, run: (of: Publication) => Promise<void>) =>
    html`<${Action} key=${text} page=${page} label=${labelOf(text, publication)} run=${() => run(publication)}>${text}<//>`
  const url = list?.publications.find(({ url }) => url !== null)?.url
  return html`<section class="published">
    <h1 id=${headingId} tabindex="-1">${words.title}</h1>
    <${PolledState} of=${polled} />
    ${list?.publications.length === 0 && html`<${EmptyState} icon="globe" title=${words.none} text=${words.noneText} />`}
    ${list && list.publications.length > 0 && html`<p class="hint">${words.text}</p>`}
    ${url && html`<${ReachNote} reach=${publishedReach(url)} page=${page} />`}
    <ul class="cards" aria-label=${words.list}>
      ${list?.publications.map(
        (publication) => html`<li class="card" key=${publication.id}>
          <${Facts} publication=${publication}>
            ${publication.state === 'adding' && action(texts.cancel, publication, end)}
            ${isRepeatable(publication) && action(words.again, publication, again)}
            ${publication.state === 'failed' && action(words.remove, publication, end)}
            ${publication.cid !== null && action(words.withdraw, publication, withdraw)}
          <//>
        </li>`,
      )}
    </ul>
    ${list && list.publications.length > 0 && html`<p class="hint">${words.sum(bytesText(list.bytes))}</p>`}
  </section>`
}

interface FactsProps {
  readonly publication: Publication
  /** The buttons for what can be done with it. */
  readonly children: ComponentChildren
}

function Facts({ publication, children }: FactsProps): VNode {
  const { state, publishedAt, files, size, url, addedBytes = 0 } = publication
  const name = html`<${Name} publication=${publication} />`
  if (state === 'failed') {
    return html`
      ${name}
      <p class="fault">${words.failed(publication.problem ?? '')}</p>
      <p class="choices">${children}</p>
    `
  }
  if (state === 'adding' || url === null || publishedAt === null) {
    return html`
      ${name}
      <p><progress aria-label=${words.progress}></progress> ${words.added(bytesText(addedBytes))}</p>
      <p class="choices">${children}</p>
    `
  }
  const label = labelOf(texts.account.copyAddress, publication)
  return html`
    ${name}
    <p class="hint">${words.facts(shortDateText(publishedAt), files, bytesText(size))}</p>
    ${state !== 'published' && html`<p class="state">${words.states[state]}</p>`}
    <${AddressText} value=${publishedAddress(url)} opens label=${label}>${children}<//>
  `
}

/** The name of the file or folder, which leads to the folder that has it. */
function Name({ publication: { path, state } }: { readonly publication: Publication }): VNode {
  const text = html`<strong><bdi>${shownName(nameOf(path))}</bdi></strong>`
  const address = folderAddress(folderOf(path))
  return html`<p class="name">
    ${icon('globe')}
    ${state === 'gone' ? text : html`<a class="alone" href=${address} title=${shownName(path)}>${text}</a>`}
  </p>`
}

function isRepeatable({ state }: Publication): boolean {
  return state === 'changed' || state === 'missing' || state === 'failed'
}

function labelOf(action: string, { path }: Publication): string {
  return texts.files.of(action, shownName(path))
}
