import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import * as texts from '../../../texts.ts'
import { shortDateText } from '../../../times.ts'
import { Card } from '../cards/card.ts'

/** The version of the node. */
export interface Version {
  readonly status: NodeAnswers['GET /api/update/status']
  readonly details: NodeAnswers['GET /api/update/details']
}

const words = texts.node.overview.version

/** Which version runs, and whether there is a newer one. */
export function VersionCard({ version }: { version: Version }): VNode {
  const { currentVersion, latestVersion, updateAvailable } = version.status
  const { checkedAt } = version.details
  const fact = updateAvailable ? words.ready(latestVersion) : words.runs(currentVersion)
  const checked = checkedAt === null ? words.unchecked : words.newest(shortDateText(checkedAt))
  return html`<${Card} icon="package" title=${words.title} fact=${fact} more=${['update', updateAvailable ? words.see : words.more]}>
    <p class="note">${updateAvailable ? words.present(currentVersion) : checked}</p>
  <//>`
}
