import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Action } from '../../../action.ts'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { dateText } from '../../../times.ts'

const configuration = `"attention-webhook": {
  "url": "https://example.org/hooks/my-node",
  "secret": "\${ATTENTION_WEBHOOK_SECRET}"
}`

const words = texts.node.messages

/** The program that is told when the node needs its owner. */
export function MessagesPart({ page }: { page: PageContext }): VNode {
  const webhook = usePolled<NodeAnswers['GET /api/attention-webhook']>(page, {
    load: (get) => get('GET /api/attention-webhook'),
    pauseMs: () => 15_000,
  })
  const test = async () => {
    const { receiver } = await request(page, 'POST /api/attention-webhook/test')
    page.notice(words.tested(receiver))
  }
  const status = webhook.value.value
  if (status === null) return html`<${PolledState} of=${webhook} />`
  const { receiver, toldAt, problem, command } = status
  return html`
    <${PolledState} of=${webhook} />
    <p>${words.explanation}</p>
    ${
      receiver === null
        ? html`<h2>${words.how}</h2>
          <ol class="steps">
            <li>${words.secret} <${CodeBlock} text=${`${command} secret`} /></li>
            <li>${words.configure} <${CodeBlock} text=${configuration} /></li>
            <li>${words.restart}</li>
          </ol>`
        : html`<p>${words.receiver(receiver)} ${toldAt === null ? words.untold : words.told(dateText(toldAt))}</p>
          <p class="fault" role="status">${problem !== null && words.problem(problem)}</p>
          <p class="choices"><${Action} page=${page} main run=${test}>${words.test}<//></p>`
    }
  `
}
