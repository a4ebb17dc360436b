import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Action } from '../../action.ts'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import type { Share } from '../../sharing/share-form.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText, shortDateText } from '../../times.ts'
import { contentAddress, folderAddress } from '../files/paths.ts'
import { offerChange, showAddress } from './change-dialog.ts'
import { Uses } from './uses.ts'

interface LinkCardProps {
  readonly page: PageContext
  readonly share: Share
  /** How long links may work. Without it, the link belongs to somebody else, and can only be ended. */
  readonly days?: Parameters<typeof offerChange>[1]
  /** The name of the person who made it, if that is somebody else. */
  readonly maker?: string
  readonly onChanged: () => Promise<void>
}

const words = texts.links

/** A link: what it is for, how it was used, and what can be done with it. */
export function LinkCard({ page, share, days, maker, onChanged }: LinkCardProps): VNode {
  const { id, name, state, type } = share
  const names = { id }
  const shown = shownName(name)
  const change = async (body: object) => {
    const changed = await request(page, 'PATCH /api/shares/{id}', { names, body })
    await onChanged()
    return changed
  }
  const end = async () => {
    const question = { title: words.endTitle(shown), text: words.endText, agree: words.end }
    if ((await ask(question)) === null) return
    await request(page, 'DELETE /api/shares/{id}', { names })
    page.notice(words.ended)
    await onChanged()
  }
  const replace = async () => {
    const question = { title: words.replaceTitle(shown), text: words.replaceText, agree: words.replace }
    if ((await ask(question)) === null) return
    const { url, reach } = await change({ newAddress: true })
    if (url !== null) showAddress(share, { url, reach })
  }
  const action = (text: string, run: () => Promise<unknown>, danger = false) =>
    html`<${Action} page=${page} danger=${danger} label=${texts.files.of(text, shown)} run=${run}>${text}<//>`
  return html`<li class="card">
    <p class="name">
      ${icon(type === 'directory' ? 'folder' : 'file')}
      <${Place} share=${share} isOwn=${maker === undefined} />
      ${state !== 'open' && html`<span class="badge warning">${words.states[state]}</span>`}
    </p>
    ${maker !== undefined && html`<p class="note">${words.of(shownName(maker))}</p>`}
    <p class="note facts">${factsOf(share).map((fact) => html`<span key=${fact}>${fact}</span>`)}</p>
    ${share.keepMetadata && html`<p class="note">${words.keepsMetadata}</p>`}
    ${state === 'back' && html`<p class="state">${words.backText}</p>`}
    ${state === 'gone' && html`<p class="state">${words.goneText}</p>`}
    <p>${usedText(share)}</p>
    <p class="choices">
      ${days && state === 'back' && action(words.reopen, () => change({ reopen: true }))}
      ${days && state !== 'gone' && action(words.change, () => offerChange(share, days, change))}
      ${days && state !== 'gone' && action(words.replace, replace)}
      ${action(words.end, end, true)}
    </p>
    <${Uses} page=${page} share=${share} />
  </li>`
}

/** The name of the file or folder. That of the person leads to it. */
function Place({ share, isOwn }: { readonly share: Share; readonly isOwn: boolean }): VNode {
  const { path, name, type } = share
  const text = html`<strong><bdi>${shownName(name)}</bdi></strong>`
  if (path === null || !isOwn) return text
  const address = type === 'directory' ? folderAddress(path) : contentAddress(path)
  return html`<a class="alone" href=${address} title=${shownName(path)}>${text}</a>`
}

function factsOf(share: Share): string[] {
  const { kind, type, expires, state, password, dropped, maxBytes, maxFiles } = share
  const dropsLeft = maxFiles !== null && maxBytes !== null
  return [
    type === 'file' ? words.fileKind : words.kinds[kind],
    state === 'expired' ? words.endedOn(dateText(expires)) : words.endsOn(shortDateText(expires)),
    ...(password ? [words.hasPassword] : []),
    ...(dropsLeft && kind !== 'read'
      ? [words.dropped(dropped.files, maxFiles, bytesText(dropped.bytes), bytesText(maxBytes))]
      : []),
  ]
}

function usedText({ used }: Share): string {
  const { last, visits, downloads, uploads, bytes } = used
  if (last === null) return words.unused
  return words.used(shortDateText(last), [
    words.visits(visits),
    ...(downloads > 0 ? [words.downloads(downloads)] : []),
    ...(uploads > 0 ? [words.uploads(uploads)] : []),
    bytesText(bytes),
  ])
}
