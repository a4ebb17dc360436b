import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { AddressText } from '../../../address-text.ts'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { QrCode } from '../../../qr-code.ts'
import { ifRunning } from '../../../refusal.ts'
import { ReachNote } from '../../../sharing/reach-note.ts'
import * as texts from '../../../texts.ts'
import { isThisComputer } from '../../../this-computer.ts'
import { HomeNetwork } from './home-network.ts'

type Reach = NodeAnswers['GET /api/overlay/status']

const words = texts.node.overlay

const configuration = `"overlay-tunnel": {
  "gateway": "example.org",
  "name": "me.example.org"
}`

/** How other devices reach the node: in the network at home, and from outside. */
export function OverlayPart({ page }: { page: PageContext }): VNode {
  const loaded = usePolled<{ readonly reach: Reach | null }>(page, {
    load: async (get) => ({ reach: await ifRunning(get('GET /api/overlay/status')) }),
    pauseMs: () => 30_000,
  })
  if (loaded.value.value === null) return html`<${PolledState} of=${loaded} />`
  const { reach } = loaded.value.value
  const { owner } = page.user
  const address = isThisComputer() ? (reach?.addresses[0] ?? null) : location.origin
  return html`
    <${PolledState} of=${loaded} />
    ${address !== null && html`<${OtherDevices} address=${address} />`}
    ${isThisComputer() && (owner ? html`<${HomeNetwork} />` : address === null && html`<${ReachNote} reach="machine" text=${words.phone.here} page=${page} />`)}
    ${reach && html`<h2>${words.how}</h2><${Status} reach=${reach} />`}
    ${
      owner &&
      reach?.proxyEnabled === false &&
      html`<ol class="steps">
        ${words.howSteps.map((step) => html`<li key=${step}>${step}</li>`)}
        <li>${words.howText} <${CodeBlock} text=${configuration} /></li>
      </ol>`
    }
    ${reach && html`<details><summary>${words.id}</summary><p class="note">${reach.nodeId}</p></details>`}
  `
}

/** The address that a phone opens. */
function OtherDevices({ address }: { address: string }): VNode {
  const { title, text, qr } = words.phone
  return html`<h2>${title}</h2>
    <p>${text} <a href="#/account">${texts.account.title}</a>.</p>
    <${AddressText} value=${address} main />
    <${QrCode} text=${address} label=${qr} />`
}

/** Whether the node can be reached from outside, and at which addresses. */
function Status({ reach }: { reach: Reach }): VNode {
  const { connected, proxyEnabled, endsTls, allocatedPort, addresses } = reach
  return html`<p role="status">
      <span class=${`badge ${connected ? 'good' : proxyEnabled ? 'warning' : ''}`}>${connected ? words.states.connected : proxyEnabled ? words.states.waiting : words.states.off}</span>${' '}
      ${connected ? words.connected : proxyEnabled ? words.waiting : words.off}
    </p>
    ${proxyEnabled && html`<p>${endsTls ? words.unread : words.read}</p>`}
    ${allocatedPort > 0 && html`<p>${words.port(allocatedPort)}</p>`}
    ${
      addresses.length > 0 &&
      html`<h3>${words.addresses}</h3>
        <ul>${addresses.map((url) => html`<li key=${url}><a class="alone" href=${url}>${url}</a></li>`)}</ul>`
    }`
}
