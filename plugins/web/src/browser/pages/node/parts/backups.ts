import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Action } from '../../../action.ts'
import { bytesText } from '../../../bytes-text.ts'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { dateText, durationText } from '../../../times.ts'
import { hasNoCopy } from '../has-no-copy.ts'
import { FindDialog } from './find-in-backup.ts'
import { RestoreDialog } from './restore.ts'

type Status = NodeAnswers['GET /api/backup/status']

interface Backups {
  readonly status: Status
  readonly list: NodeAnswers['GET /api/backup/list']['backups']
}

/** Whether this tab waits for a backup. It lives on while other parts and pages are shown. */
const isCreating = signal(false)

/** The backups of the node: make, download, delete and restore them. */
export function BackupPart({ page }: { page: PageContext }): VNode {
  const backups = usePolled<Backups>(page, {
    async load(get) {
      const status = await get('GET /api/backup/status')
      const { backups } = await get('GET /api/backup/list')
      return { status, list: backups }
    },
    pauseMs: (state) =>
      isCreating.value || state?.status.running || state?.status.isDrilling ? 1000 : 10_000,
  })
  const restored = useSignal<string | null>(null)
  const searched = useSignal<string | null>(null)
  const words = texts.node.backups

  /** The node makes the backup whether somebody waits or not, so a request without an answer has not failed. */
  const create = async () => {
    isCreating.value = true
    void backups.refresh()
    try {
      const { filename } = await request(page, 'POST /api/backup/create')
      page.notice(words.created(filename))
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    } finally {
      isCreating.value = false
      void backups.refresh()
    }
  }
  const remove = async (filename: string) => {
    const title = words.deleteTitle(filename)
    const answer = await ask({ title, text: words.deleteText, agree: words.delete, danger: true })
    if (answer === null) return
    await request(page, 'DELETE /api/backup/{filename}', { names: { filename } })
    page.notice(words.deleted)
    await backups.refresh()
  }
  const takeBack = async () => {
    const { backup } = await request(page, 'DELETE /api/backup/restore')
    page.notice(words.takenBack(backup))
    await backups.refresh()
  }
  const state = backups.value.value
  if (state === null) return html`<${PolledState} of=${backups} />`
  const { status, list } = state
  const { running, planned } = status
  const [first, ...others] = linesOf(status)
  return html`
    <${PolledState} of=${backups} />
    ${
      planned &&
      html`<p class="told">
        ${words.planned(planned.backup)}
        <${Action} page=${page} run=${takeBack}>${words.takeBack}<//>
      </p>`
    }
    <section class="card box" aria-label=${words.title}>
      <p class=${first.isFault ? 'fact fault' : 'fact'}>${first.text}</p>
      <p role="status">${progressOf(status)}</p>
      ${(running || isCreating.value) && html`<progress aria-label=${words.progress} value=${running?.share ?? undefined}></progress>`}
      <p class="choices"><${Action} page=${page} main run=${create}>${words.create}<//></p>
      ${others.map(({ text, isFault }) => html`<p key=${text} class=${isFault ? 'fault' : 'note'}>${text}</p>`)}
    </section>
    ${status.next === null && html`<${HowToSchedule} />`}
    ${list.length > 0 && html`<h2>${words.list}</h2>`}
    <ul class=${list.length > 0 ? 'items card backups' : 'items'} aria-label=${words.list}>
      ${list.map(
        ({ filename, size, created }) => html`<li key=${filename}>
          <div class="grow">
            <strong>${dateText(created)}</strong> <span class="note">${bytesText(size)}</span>
            ${status.stored.deletedNext?.includes(filename) && html` <span class="badge">${words.goes}</span>`}
            <p class="note">${filename}</p>
          </div>
          <span class="toolbar">
            <a
              class="button"
              href=${`/api/backup/download/${encodeURIComponent(filename)}`}
              download=${filename}
              aria-label=${texts.node.of(words.download, filename)}
            >${words.download}</a>
            <${Action}
              page=${page}
              label=${texts.node.of(words.find, filename)}
              run=${async () => {
                searched.value = filename
              }}
            >${words.find} …<//>
            <${Action}
              page=${page}
              label=${texts.node.of(words.restore, filename)}
              run=${async () => {
                restored.value = filename
              }}
            >${words.restore} …<//>
            <${Action} page=${page} danger label=${texts.node.of(words.delete, filename)} run=${() => remove(filename)}>${words.delete}<//>
          </span>
        </li>`,
      )}
    </ul>
    ${
      searched.value !== null &&
      html`<${FindDialog}
        page=${page}
        filename=${searched.value}
        isEncrypted=${status.stored.encrypted.includes(searched.value)}
        onClose=${() => {
          searched.value = null
        }}
      />`
    }
    ${
      restored.value !== null &&
      html`<${RestoreDialog}
        page=${page}
        filename=${restored.value}
        isEncrypted=${status.stored.encrypted.includes(restored.value)}
        isOtherPlanned=${planned !== null}
        onClose=${() => {
          restored.value = null
          void backups.refresh()
        }}
      />`
    }
  `
}

const schedule = `"backup": {
  "schedule": "30 3 * * *",
  "keep": { "daily": 7, "weekly": 4, "monthly": 6 }
}`

/** How the node makes backups by itself. */
function HowToSchedule(): VNode {
  const words = texts.node.backups
  return html`<details>
    <summary>${words.how}</summary>
    <p>${words.howText}</p>
    <${CodeBlock} text=${schedule} />
  </details>`
}

function progressOf({ running, isDrilling }: Status): string {
  const words = texts.node.backups
  if (running?.step === 'writing') return words.writing(running.entries, bytesText(running.bytes))
  if (running !== null || isCreating.value) return words.preparing
  return isDrilling ? words.drilling : ''
}

interface Line {
  readonly text: string
  readonly isFault: boolean
}

/** Returns what there is to say about the backups, one line each. The first one is about the last backup. */
function linesOf({
  last,
  next,
  folder,
  stored,
  drills,
  drill,
  recipients,
  rehearsed,
  targets,
  previous,
  command,
}: Status): [first: Line, ...others: Line[]] {
  const words = texts.node.backups
  const told: Line[] = []
  const say = (text: string | false) => text && told.push({ text, isFault: false })
  const complain = (text: string) => told.push({ text, isFault: true })
  if (drill !== null) {
    const { result, at, problem, seconds } = drill
    const date = dateText(at)
    if (result === 'passed') say(words.drill.passed(durationText(seconds ?? 0), date))
    else if (result === 'verified') say([words.drill.verified(date), problem].filter(Boolean).join(' '))
    else if (result === 'skipped') say([words.drill.skipped(date), problem].filter(Boolean).join(' '))
    else complain(words.drill.failed(date, problem ?? ''))
  }
  say(next === null ? words.noSchedule : words.next(dateText(next)))
  say(
    words.goTo(
      folder,
      targets.map(({ name }) => name),
    ),
  )
  say(drills ? words.tries : words.triesNone(command))
  const { backups, bytes, deletedNext } = stored
  if (backups > 0)
    say(
      `${words.stored(backups, bytesText(bytes))} ${deletedNext === null ? words.keepsAll : words.deletes(deletedNext.length, backups)}`,
    )
  if (hasNoCopy({ stored, targets })) say(words.onlyHere)
  say(recipients === 0 ? words.unencrypted(command) : words.encrypted(recipients))
  if (recipients > 0)
    say(rehearsed === null ? words.unrehearsed(command) : words.rehearsed(dateText(rehearsed)))
  for (const { name, completeAt, problem } of targets) {
    if (problem !== null) complain(words.targetFailed(name, problem))
    else say(completeAt === null ? words.targetPending(name) : words.target(name, dateText(completeAt)))
  }
  for (const { backup, bytes } of previous) say(words.previous(backup, bytesText(bytes), command))
  return [lineOfLast(last), ...told]
}

function lineOfLast(last: Status['last']): Line {
  const words = texts.node.backups
  if (last === null) return { text: words.none, isFault: false }
  const { at, problem } = last
  if (problem === null) return { text: words.last(dateText(at)), isFault: false }
  return { text: words.failed(dateText(at), problem), isFault: true }
}
