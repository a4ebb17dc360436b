import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { reasonOf, request } from '../../request.ts'
import type { Share } from '../../sharing/share-form.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { shortDateText } from '../../times.ts'

type Use = NodeAnswers['GET /api/shares/{id}/uses']['uses'][number]

const words = texts.links.uses

/** The last uses of a link, which are asked for when the person unfolds them. */
export function Uses({ page, share }: { readonly page: PageContext; readonly share: Share }): VNode | null {
  const uses = useSignal<readonly Use[] | null>(null)
  const fault = useSignal('')
  const { id, used } = share
  const load = async ({ currentTarget }: Event) => {
    if (!(currentTarget as HTMLDetailsElement).open) return
    try {
      uses.value = (await request(page, 'GET /api/shares/{id}/uses', { names: { id } })).uses
      fault.value = ''
    } catch (error) {
      fault.value = reasonOf(error)
    }
  }
  if (used.last === null) return null
  return html`<details onToggle=${load}>
    <summary>${words.title}</summary>
    <p class="hint">${words.explanation}</p>
    <p class="fault" role="alert">${fault.value}</p>
    <ul class="items" aria-label=${words.title}>
      ${uses.value?.map(
        (use, at) => html`<li key=${at}>
          <span class="grow"><bdi>${textOf(use)}</bdi></span>
          <span class="note"><time dateTime=${use.at}>${shortDateText(use.at)}</time> · ${use.network}</span>
        </li>`,
      )}
    </ul>
  </details>`
}

/** Names are texts of guests: they show no character that hides another one. */
function textOf({ kind, times, bytes, name, sender }: Use): string {
  if (kind === 'visit') return words.visits(times)
  if (kind === 'download') return words.downloads(times, bytesText(bytes))
  return words.upload(shownName(name ?? ''), bytesText(bytes), sender === null ? null : shownName(sender))
}
