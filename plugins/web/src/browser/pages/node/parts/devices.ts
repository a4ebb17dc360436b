import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Action } from '../../../action.ts'
import { html } from '../../../html.ts'
import { icon } from '../../../icon.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { dateText } from '../../../times.ts'
import { AddDevice } from './add-device.ts'

type Device = NodeAnswers['GET /api/sync/devices']['devices'][number]

/** The devices that keep a folder the same as the files of the person. */
export function DevicesPart({ page }: { page: PageContext }): VNode {
  const devices = usePolled<readonly Device[]>(page, {
    load: async (get) => (await get('GET /api/sync/devices')).devices,
    pauseMs: () => 10_000,
  })
  const known = usePolled<NodeAnswers['GET /api/web/pages']>(page, {
    load: (get) => get('GET /api/web/pages'),
    pauseMs: () => 600_000,
  })
  const hasWebdav = known.value.value?.pages.some(({ name }) => name === 'connect-app')
  const isAdding = useSignal(false)
  const words = texts.node.devices
  const list = devices.value.value
  const remove = async ({ id, name }: Device) => {
    const title = words.removeTitle(name)
    const answer = await ask({ title, text: words.removeText, agree: words.remove })
    if (answer === null) return
    await request(page, 'DELETE /api/sync/devices/{id}', { names: { id } })
    page.notice(words.removed)
    await devices.refresh()
  }
  const toggle = ({ currentTarget }: ToggleEvent) => {
    isAdding.value = (currentTarget as HTMLDetailsElement).open
  }
  return html`
    <${PolledState} of=${devices} />
    ${list && html`<p class="hint">${list.length === 0 ? words.none : words.text}</p>`}
    <ul class=${list?.length ? 'items card' : 'items'} aria-label=${words.title}>
      ${list?.map(
        (device) => html`<li key=${device.id}>
          ${icon('laptop')}
          <div class="grow">
            <strong>${device.name}</strong>
            <p class="note">${device.connected ? words.connected : words.seen(dateText(device.seenAt))}</p>
          </div>
          <${Action} page=${page} label=${texts.node.of(words.remove, device.name)} run=${() => remove(device)}>${words.remove}<//>
        </li>`,
      )}
    </ul>
    ${
      known.isKnown &&
      html`${hasWebdav && html`<p><a class="alone" href="#/connect-app">${texts.account.tokens.connectApp}</a></p>`}
        <details onToggle=${toggle}>
          <summary>${words.add}</summary>
          ${isAdding.value && html`<${AddDevice} page=${page} />`}
        </details>`
    }
  `
}
