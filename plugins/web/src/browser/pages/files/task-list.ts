import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { durationText } from '../../times.ts'
import { hasEnded, type Task, type Tasks } from './tasks.ts'
import { useTransferState } from './transfer-speed.ts'

/** The most tasks that are shown. */
const mostShown = 100

const words = texts.files

/** The uploads and other long changes of this session, in one line that unfolds. What failed unfolds by itself. */
export function TaskList({ tasks }: { tasks: Tasks }): VNode | null {
  const list = tasks.list.value
  const isUnfolded = useSignal<boolean | null>(null)
  // The version stands for the states: reading them all would draw the list again with each percent of a task.
  tasks.version.value
  if (list.length === 0) return null
  const states = list.map(({ state }) => state.peek())
  const count = (is: (typeof states)[number]['is']) => states.filter((state) => state.is === is).length
  const [done, failed, asking, away] = [count('done'), count('failed'), count('exists'), count('away')]
  const open = states.filter((state) => !hasEnded(state)).length
  const isShown = isUnfolded.value ?? failed > 0
  const isPaused = tasks.isPaused.value
  const toggle = () => {
    isUnfolded.value = !isShown
  }
  const decide = () => {
    tasks.isAsking.value = true
  }
  const clear = () => {
    isUnfolded.value = null
    tasks.clear()
  }
  return html`<section class=${open + failed === 0 ? 'tasks done' : 'tasks'} aria-label=${words.tasks}>
    <div class="line">
      <button type="button" class="quiet fold" aria-expanded=${isShown} onClick=${toggle}>
        ${icon(isShown ? 'chevron-down' : 'chevron-right')}<span class="words">${words.tasks}</span> (${done}/${list.length})
      </button>
      ${open > 0 && html`<${Transfer} tasks=${tasks} isRunning=${open > asking && !isPaused} />`}
      <p role="status" class="hint">${statusText({ open, failed, asking, away, isPaused })}</p>
      <p class="answers">
        ${asking > 0 && html`<button type="button" class="main" onClick=${decide}>${words.decide}</button>`}
        ${
          open > asking &&
          html`<button type="button" onClick=${() => (isPaused ? tasks.goOn() : tasks.pause())}>
            ${icon(isPaused ? 'play' : 'pause')}<span>${isPaused ? words.goOn : words.pause}</span>
          </button>`
        }
        ${open > 0 && html`<button type="button" title=${words.cancelAll} onClick=${() => tasks.cancelAll()}>${icon('x')}<span>${words.cancelAll}</span></button>`}
        ${
          open === 0 &&
          html`<button type="button" class="quiet icon-only" aria-label=${words.clear} title=${words.clear} onClick=${clear}>${icon('x')}</button>`
        }
      </p>
    </div>
    ${isShown && html`<${Rows} list=${list} tasks=${tasks} />`}
  </section>`
}

/** How much of the uploads is sent, how fast, and how long it takes. */
function Transfer({ tasks, isRunning }: { tasks: Tasks; isRunning: boolean }): VNode | null {
  const { sent, total, speed } = useTransferState(tasks, isRunning)
  if (total === 0) return null
  const isMoving = isRunning && speed !== null && speed > 0
  return html`
    <progress max=${total} value=${sent} aria-label=${words.progress}></progress>
    <span class="hint facts">
      <span>${words.sentOf(bytesText(sent), bytesText(total))}</span>
      ${isMoving && html`<span>${words.speed(bytesText(speed))}</span>`}
      ${isMoving && html`<span>${timeLeftText((total - sent) / speed)}</span>`}
    </span>
  `
}

/** The tasks: what failed and what goes on stand before what is done. */
function Rows({ list, tasks }: { list: readonly Task[]; tasks: Tasks }): VNode {
  const order = ['failed', 'exists', 'running', 'away', 'paused', 'waiting', 'cancelled', 'skipped', 'done']
  const rank = ({ state }: Task) => order.indexOf(state.peek().is)
  const shown = list.toSorted((a, b) => rank(a) - rank(b))
  return html`
    <ul tabindex="0" aria-label=${words.tasks}>
      ${shown.slice(0, mostShown).map((task) => html`<${TaskRow} key=${task} task=${task} tasks=${tasks} />`)}
    </ul>
    <p class="hint">${shown.length > mostShown && words.moreTasks(shown.length - mostShown)}</p>
  `
}

function TaskRow({ task, tasks }: { task: Task; tasks: Tasks }): VNode {
  const state = task.state.value
  const name = shownName(task.work.title)
  const button = (text: string, onClick: () => void) =>
    html`<button type="button" aria-label=${words.of(text, name)} onClick=${onClick}>${text}</button>`
  return html`<li>
    <span class="name" title=${name}><bdi>${name}</bdi></span>
    ${state.is === 'running' && html`<progress max="100" value=${state.percent ?? undefined} aria-label=${name}></progress>`}
    <span class=${state.is === 'failed' ? 'fault' : 'state'}>${stateText(state)}</span>
    ${state.is === 'failed' && state.canRetry && button(words.retry, () => tasks.retry(task))}
    ${!hasEnded(state) && state.is !== 'exists' && button(texts.cancel, () => tasks.cancel(task))}
  </li>`
}

interface Counted {
  readonly open: number
  readonly failed: number
  readonly asking: number
  readonly away: number
  readonly isPaused: boolean
}

function statusText(now: Counted): string {
  if (now.asking > 0) return words.thereAlready(now.asking)
  if (now.away > 0) return words.state.away
  if (now.open > 0) return now.isPaused ? words.state.paused : ''
  return now.failed > 0 ? words.someFailed(now.failed) : words.allDone
}

function stateText(state: Task['state']['value']): string {
  if (state.is === 'failed') return state.reason || words.failed
  if (state.is !== 'running') return words.state[state.is]
  return state.percent === null ? '' : words.state.running(state.percent)
}

/** Longer times are told in minutes: the seconds would change with each look. */
function timeLeftText(seconds: number): string {
  if (seconds < 60) return words.secondsLeft
  return words.timeLeft(durationText(60 * Math.round(seconds / 60)))
}
