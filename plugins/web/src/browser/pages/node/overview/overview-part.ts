import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Action, headingId } from '../../../action.ts'
import { html } from '../../../html.ts'
import { icon } from '../../../icon.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { ifRunning } from '../../../refusal.ts'
import { reasonOf, request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { durationText } from '../../../times.ts'
import { LoadCard, StorageCard } from '../cards/history-cards.ts'
import { useFileUsage } from '../parts/file-usage.ts'
import { BackupCard, useBackups } from './backup-card.ts'
import { MessagesCard, useMessages } from './messages-card.ts'
import { OutsideCard, useReach } from './outside-card.ts'
import { PeopleCard, usePeople } from './people-card.ts'
import { RoomCard } from './room-card.ts'
import { type Version, VersionCard } from './version-card.ts'

type Report = NodeAnswers['GET /api/system/health']

interface History {
  readonly days: NodeAnswers['GET /api/node-history/days'] | null
  readonly hours: NodeAnswers['GET /api/node-history/hours'] | null
}

/** Characters of the longest name of a node. */
const longestName = 40

const words = texts.node.overview

/** Tells the owner in a few seconds whether the node is well, and what needs them. Each card leads to its details. */
export function OverviewPart({ page }: { page: PageContext }): VNode {
  const health = usePolled<Report>(page, {
    load: (get) => get('GET /api/system/health'),
    pauseMs: () => 10_000,
  })
  const history = usePolled<History>(page, {
    async load(get) {
      const [days, hours] = await Promise.all([
        ifRunning(get('GET /api/node-history/days')),
        ifRunning(get('GET /api/node-history/hours')),
      ])
      return { days, hours }
    },
    pauseMs: () => 300_000,
  })
  const version = usePolled<{ readonly version: Version | null }>(page, {
    async load(get) {
      const [status, details] = await Promise.all([
        ifRunning(get('GET /api/update/status')),
        ifRunning(get('GET /api/update/details')),
      ])
      return { version: status && details && { status, details } }
    },
    pauseMs: () => 60_000,
  })
  const backups = useBackups(page)
  const outside = useReach(page)
  const people = usePeople(page)
  const messages = useMessages(page)
  const usage = useFileUsage(page)
  const { days = null, hours = null } = history.value.value ?? {}
  const { version: known = null } = version.value.value ?? {}
  // Until all is known, nothing is shown: later facts would move the earlier ones.
  const isKnown = [health, history, version, backups, outside, people, messages, usage].every(
    (asked) => asked.isKnown,
  )
  const report = isKnown ? health.value.value : null
  const { status: backup = null } = backups.value.value ?? {}
  const { reach = null } = outside.value.value ?? {}
  const { status: webhook = null } = messages.value.value ?? {}
  return html`
    <${Head} report=${report} version=${report && (known?.status.currentVersion ?? null)} />
    <${PolledState} of=${health} />
    ${report && report.attention.length > 0 && html`<${AttentionList} attention=${report.attention} />`}
    <div class="cards" hidden=${!isKnown}>
      ${backup && html`<${BackupCard} status=${backup} />`}
      ${reach && html`<${OutsideCard} reach=${reach} />`}
      <${RoomCard} usage=${usage.all} fullInDays=${days?.fullInDays ?? null} />
      ${days && html`<${StorageCard} days=${days.periods} />`}
      ${hours && html`<${LoadCard} hours=${hours.periods} />`}
      ${people.value.value && html`<${PeopleCard} people=${people.value.value} usage=${usage.all} />`}
      ${known && html`<${VersionCard} version=${known} />`}
      ${webhook && html`<${MessagesCard} status=${webhook} />`}
    </div>
    ${
      report &&
      html`<p class="choices"><${Action} page=${page} run=${() => nameNode(page)}>${icon('pencil')} ${words.name.change}<//></p>
        <${Checks} report=${report} />`
    }
  `
}

function Head({ report, version }: { report: Report | null; version: string | null }): VNode {
  const attention = report?.attention ?? []
  const [title, badge, kind] =
    report === null
      ? ([texts.node.title, '', ''] as const)
      : attention.length === 0
        ? ([words.well, words.allWorks, 'good'] as const)
        : attention.every(({ ok }) => ok)
          ? ([words.works, texts.shell.attention(attention.length), 'warning'] as const)
          : ([words.needsYou, texts.shell.attention(attention.length), 'fault'] as const)
  const about = [
    version !== null && words.product(texts.product, version),
    report && words.up(durationText(report.uptime)),
  ]
  return html`<div class="page-head overview-head">
    <h1 id=${headingId} tabindex="-1">${title}</h1>
    <span role="status">${badge !== '' && html`<span class=${`badge ${kind}`}>${icon(kind === 'good' ? 'circle-check' : 'bell')} ${badge}</span>`}</span>
    <p class="note end">${about.filter(Boolean).join(' · ')}</p>
  </div>`
}

/** Asks the owner for the name of the node. Without one, that of the configuration holds. */
async function nameNode(page: PageContext): Promise<void> {
  const { title, text, field: label, agree, tooLong } = words.name
  const { name: value } = await request(page, 'GET /api/web/pages')
  const check = async (typed: string) => {
    if (typed.length > longestName) return tooLong(longestName)
    const body = { name: typed === '' ? null : typed }
    return request(page, 'PUT /api/web/name', { body }).then(() => null, reasonOf)
  }
  if ((await ask({ title, text, field: { label, value }, agree, check })) !== null) await page.refresh()
}

/** The parts of the page that mend what a check found. Others have none. */
const partsOfChecks: Readonly<Record<string, keyof typeof words.mend>> = {
  'access-requests': 'users',
  backup: 'backups',
  'disk-space': 'storage',
  overlay: 'overlay',
  plugins: 'plugins',
  previews: 'contents',
  search: 'contents',
  update: 'update',
}

function AttentionList({ attention }: { attention: Report['attention'] }): VNode {
  return html`<ul class="items card attention" aria-label=${words.attention}>
    ${attention.map(({ name, ok, message }) => {
      const part = partsOfChecks[name]
      return html`<li key=${name} class=${ok ? 'warned' : 'failed'}>
        ${icon(ok ? 'triangle-alert' : 'circle-alert')}
        <span class="grow">${message}</span>
        ${part && html`<a class="button" href=${`#/node/${part}`}>${words.mend[part]}</a>`}
      </li>`
    })}
  </ul>`
}

function Checks({ report }: { report: Report }): VNode {
  return html`<details class="checks">
    <summary>${words.checks}</summary>
    <table aria-label=${words.checks}>
      <thead><tr><th scope="col">${words.check}</th><th scope="col">${words.result}</th></tr></thead>
      <tbody>
        ${Object.entries(report.checks).map(([name, { ok, message }]) => {
          const result = ok ? (message === undefined ? words.passes : words.warns) : words.fails
          return html`<tr key=${name}>
            <th scope="row">${words.checkNames[name] ?? name}</th>
            <td class=${ok ? '' : 'fault'}>${result}</td>
          </tr>`
        })}
      </tbody>
    </table>
  </details>`
}
