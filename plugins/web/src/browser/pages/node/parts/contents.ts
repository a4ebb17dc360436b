import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import * as texts from '../../../texts.ts'
import { UsageBar } from '../../../usage-bar.ts'

interface Status {
  /** `null` while the plugin does not run. */
  readonly previews: NodeAnswers['GET /api/previews/status'] | null
  readonly search: NodeAnswers['GET /api/search/status'] | null
}

const words = texts.node.contents

/** How far the node is with the search and with previews: what waits, what failed, and the room that it takes. */
export function ContentsPart({ page }: { page: PageContext }): VNode {
  const status = usePolled<Status>(page, {
    async load(get) {
      const [previews, search] = await Promise.all([
        ifRunning(get('GET /api/previews/status')),
        ifRunning(get('GET /api/search/status')),
      ])
      return { previews, search }
    },
    pauseMs: () => 5000,
  })
  const { previews = null, search = null } = status.value.value ?? {}
  return html`
    <${PolledState} of=${status} />
    ${
      search &&
      html`<${Box} title=${words.search} work=${search}>
        <p>${words.indexed(search.indexed)} ${words.index(bytesText(search.bytes))}</p>
      <//>`
    }
    ${
      previews &&
      html`<${Box} title=${words.previews} work=${previews}>
        <p>${words.made(previews.made)} ${words.cache(bytesText(previews.cacheBytes), bytesText(previews.cacheLimit))}</p>
        <${UsageBar} bytes=${previews.cacheBytes} space=${{ free: previews.cacheLimit - previews.cacheBytes, total: previews.cacheLimit }} />
      <//>`
    }
  `
}

interface BoxProps {
  readonly title: string
  readonly work: {
    readonly waiting: number
    readonly isComplete: boolean
    readonly failed: Readonly<Record<string, number>>
  }
  readonly children: unknown
}

function Box({ title, work: { waiting, isComplete, failed }, children }: BoxProps): VNode {
  const failures = Object.entries(failed).filter(([, files]) => files > 0)
  return html`<section class="card box" aria-label=${title}>
    <h2>${title}</h2>
    <p role="status">${isComplete ? words.complete : waiting > 0 ? words.waiting(waiting) : words.counting}</p>
    ${children}
    ${
      failures.length > 0 &&
      html`<table>
        <caption>${words.failed}</caption>
        <thead><tr><th scope="col">${words.reason}</th><th scope="col">${words.files}</th></tr></thead>
        <tbody>
          ${failures.map(
            ([reason, files]) => html`<tr key=${reason}>
              <th scope="row">${words.reasons[reason] ?? reason}</th>
              <td>${files.toLocaleString()}</td>
            </tr>`,
          )}
        </tbody>
      </table>`
    }
  </section>`
}
