import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { Dialog } from '../../../questions.ts'
import { reasonOf, request } from '../../../request.ts'
import { shownName } from '../../../shown-name.ts'
import * as texts from '../../../texts.ts'
import { dateText } from '../../../times.ts'

type Answer = NodeAnswers['POST /api/backup/find']
type Found = Answer['found'][number]

/** How often the progress is asked for, in milliseconds. */
const askEveryMs = 1000

interface FindProps {
  readonly page: PageContext
  readonly filename: string
  /** Whether the person has to give a recovery key: the node has none. */
  readonly isEncrypted: boolean
  readonly onClose: () => void
}

/** Finds files of users in a backup by their names, and puts them back beside what is there now. */
export function FindDialog({ page, filename, isEncrypted, onClose }: FindProps): VNode {
  const words = texts.node.find
  const answer = useSignal<Answer | null>(null)
  const told = useSignal('')
  const fault = useSignal('')
  /** The share that was read while the node works; null otherwise. */
  const share = useSignal<number | null>(null)
  const key = useRef('')
  const closed = useRef(new AbortController())
  useLayoutEffect(() => () => closed.current.abort(), [])
  useLayoutEffect(() => {
    const timer = setInterval(async () => {
      if (share.value === null) return
      const status = await request(page, 'GET /api/backup/status').catch(() => null)
      if (share.value !== null && typeof status?.reading === 'number') share.value = status.reading
    }, askEveryMs)
    return () => clearInterval(timer)
  }, [])

  const run = async (work: () => Promise<void>) => {
    if (share.value !== null) return
    share.value = 0
    fault.value = ''
    told.value = ''
    try {
      await work()
    } catch (error) {
      fault.value = reasonOf(error)
    } finally {
      share.value = null
    }
  }
  /** Closing the dialog ends what the node does for it. */
  const sent = (more: object) => {
    const body = { filename, ...more, ...(key.current !== '' && { key: key.current }) }
    return { body, signal: closed.current.signal }
  }
  const find = (event: SubmitEvent) => {
    event.preventDefault()
    const data = new FormData(event.target as HTMLFormElement)
    const text = String(data.get('text') ?? '').trim()
    key.current = String(data.get('key') ?? '').trim()
    if (text === '') return
    answer.value = null
    void run(async () => {
      answer.value = await request(page, 'POST /api/backup/find', sent({ text }))
    })
  }
  const putBack = ({ userUuid, username, path }: Found) =>
    run(async () => {
      const { path: now } = await request(page, 'POST /api/backup/put-back', sent({ userUuid, path }))
      told.value = words.putBackTo(shownName(now), username)
    })
  const isWorking = share.value !== null
  return html`<${Dialog} title=${words.title(filename)} onClose=${onClose}>
    <form onSubmit=${find}>
      <p>${words.text}</p>
      <label>${words.name}<input name="text" required maxlength="4096" autocomplete="off" spellcheck=${false} autofocus /></label>
      ${isEncrypted && html`<label>${texts.node.restore.key}<input name="key" type="password" required autocomplete="off" /></label>`}
      ${
        answer.value !== null &&
        answer.value.found.length > 0 &&
        html`<ul class="items" aria-label=${words.list}>
        ${answer.value.found.map(
          (found) => html`<li key=${found.userUuid + found.path}>
            <div class="grow">
              <strong>${shownName(found.path)}</strong>
              <p class="note">${describe(found)}</p>
            </div>
            <button
              type="button"
              aria-label=${texts.node.of(words.putBack, shownName(found.path))}
              aria-disabled=${isWorking}
              onClick=${() => putBack(found)}
            >${words.putBack}</button>
          </li>`,
        )}
      </ul>`
      }
      <div class="foot">
        <p class="hint" role="status">${isWorking ? words.reading : told.value || countOf(answer.value)}</p>
        ${isWorking && html`<progress aria-label=${words.reading} value=${share.value || undefined}></progress>`}
        <p class="fault" role="alert">${fault.value}</p>
        <p class="buttons">
          <button type="button" onClick=${onClose}>${texts.close}</button>
          <button type="submit" class="main" aria-disabled=${isWorking}>${words.find}</button>
        </p>
      </div>
    </form>
  <//>`
}

function describe({ username, type, size, modified }: Found): string {
  const words = texts.node.find
  return [username, type === 'file' ? bytesText(size) : words.folder, dateText(modified)].join(' · ')
}

function countOf(answer: Answer | null): string {
  const words = texts.node.find
  if (answer === null) return ''
  const { count, found } = answer
  if (count === 0) return words.nothing
  return count > found.length ? words.first(found.length, count) : words.found(count)
}
