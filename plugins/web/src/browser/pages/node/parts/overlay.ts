import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { texts } from '../../../texts.ts'

type Reach = NodeAnswers['GET /api/overlay/status']

const configuration = `"overlay-tunnel": {
  "gateway": "example.org",
  "name": "me.example.org"
}`

/** How the node can be reached from outside. */
export function OverlayPart({ page }: { page: PageContext }): VNode {
  const reach = usePolled<Reach>(page, {
    load: (get) => get('GET /api/overlay/status'),
    pauseMs: () => 30_000,
  })
  const words = texts.node.overlay
  const status = reach.value.value
  return html`
    <${PolledState} of=${reach} />
    ${
      status &&
      html`<p role="status">
          <span class=${`badge ${status.connected ? 'good' : status.proxyEnabled ? 'warning' : ''}`}>${status.connected ? words.states.connected : status.proxyEnabled ? words.states.waiting : words.states.off}</span>${' '}
          ${status.connected ? words.connected : status.proxyEnabled ? words.waiting : words.off}
        </p>
        ${status.proxyEnabled && html`<p>${status.endsTls ? words.unread : words.read}</p>`}
        ${status.allocatedPort > 0 && html`<p>${words.port(status.allocatedPort)}</p>`}
        ${
          status.addresses.length > 0 &&
          html`<h2>${words.addresses}</h2>
            <ul>${status.addresses.map((url) => html`<li key=${url}><a href=${url}>${url}</a></li>`)}</ul>`
        }
        ${
          page.user.owner &&
          !status.proxyEnabled &&
          html`<h2>${words.how}</h2>
            <ol class="steps">
              ${words.howSteps.map((step) => html`<li key=${step}>${step}</li>`)}
              <li>${words.howText} <${CodeBlock} text=${configuration} /></li>
            </ol>`
        }
        <details><summary>${words.id}</summary><p class="note">${status.nodeId}</p></details>`
    }
  `
}
