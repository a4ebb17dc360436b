import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { type Polled, usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import * as texts from '../../../texts.ts'
import { durationText, shortDateText } from '../../../times.ts'
import { Card } from '../cards/card.ts'
import { hasNoCopy } from '../has-no-copy.ts'

type Status = NodeAnswers['GET /api/backup/status']

const words = texts.node.overview.backup

/** Asks for the backups; `null` without the plugin. */
export function useBackups(page: PageContext): Polled<{ readonly status: Status | null }> {
  return usePolled(page, {
    load: async (get) => ({ status: await ifRunning(get('GET /api/backup/status')) }),
    pauseMs: (value) => (value?.status?.running || value?.status?.isDrilling ? 2000 : 30_000),
  })
}

/** Whether there is a backup, and whether it was tried out. */
export function BackupCard({ status }: { status: Status }): VNode {
  const { fact, note, kind } = toldBy(status)
  const { backups, bytes } = status.stored
  const { stored, onlyHere } = texts.node.backups
  return html`<${Card} icon="archive" title=${words.title} fact=${fact} kind=${kind} more=${['backups', status.last === null ? words.first : words.more]}>
    <p class="note">${note}</p>
    ${backups > 0 && html`<p class="note">${stored(backups, bytesText(bytes))}</p>`}
    ${hasNoCopy(status) && html`<p class="note">${onlyHere}</p>`}
  <//>`
}

interface Told {
  readonly fact: string
  readonly note: string
  readonly kind: '' | 'warning' | 'fault'
}

function toldBy({ running, isDrilling, last, drill, next }: Status): Told {
  if (running !== null || isDrilling)
    return { fact: running === null ? words.drilling : words.running, note: '', kind: '' }
  if (last === null) return { fact: words.none, note: words.noneText, kind: 'warning' }
  if (last.problem !== null) return { fact: words.failed, note: last.problem, kind: 'fault' }
  if (drill?.result === 'failed') return { fact: words.untrusted, note: drill.problem ?? '', kind: 'fault' }
  const due = next === null ? words.noSchedule : words.next(shortDateText(next))
  const isTried = drill !== null && drill.filename === last.filename
  if (isTried && drill.result === 'passed')
    return {
      fact: words.tried(shortDateText(drill.at)),
      note: `${words.back(durationText(drill.seconds ?? 0))} ${due}`,
      kind: '',
    }
  const tried = isTried && drill.result === 'verified' ? words.verified : words.untried
  return { fact: words.made(shortDateText(last.at)), note: `${tried} ${due}`, kind: '' }
}
