import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { texts } from '../../../texts.ts'
import { durationText } from '../../../times.ts'

type Report = NodeAnswers['GET /api/system/health']

/** The health of the node, with each check. */
export function HealthPart({ page }: { page: PageContext }): VNode {
  const health = usePolled<Report>(page, {
    load: (get) => get('GET /api/system/health'),
    pauseMs: () => 10_000,
  })
  const words = texts.node.health
  const report = health.value.value
  return html`
    <${PolledState} of=${health} />
    ${
      report &&
      html`<p role="status">${summaryOf(report)}</p>
        <ul class="attention">
          ${Object.entries(report.checks)
            .filter(([, { ok, message }]) => !ok || message !== undefined)
            .map(
              ([name, { ok, state, message }]) =>
                html`<li key=${name} class=${ok ? 'warning' : 'fault'}>${message ?? words.failing(name, state)}</li>`,
            )}
        </ul>
        <p class="hint">${words.since(durationText(report.uptime))}</p>
        <details><summary>${words.checks}</summary>
        <table aria-label=${words.checks}>
          <thead><tr><th scope="col">${words.check}</th><th scope="col">${words.result}</th></tr></thead>
          <tbody>
            ${Object.entries(report.checks).map(
              ([name, { ok, state }]) => html`<tr key=${name}>
                <th scope="row">${name}</th>
                <td class=${ok ? '' : 'fault'}>${ok ? words.works : words.fails} (${state})</td>
              </tr>`,
            )}
          </tbody>
        </table>
        </details>`
    }
  `
}

/** Returns one sentence, which agrees with the messages below it. */
function summaryOf({ status, checks }: Report): string {
  const words = texts.node.health
  if (status !== 'ok') return words.degraded
  return Object.values(checks).some(({ message }) => message !== undefined) ? words.warned : words.ok
}
