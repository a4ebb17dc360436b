import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { hasEnded, type IfExists, type Task, type Tasks } from './tasks.ts'

/** The most tasks that are shown. */
const mostShown = 100

/** The uploads and other long changes of this session, with their progress and what can be done. */
export function TaskList({ tasks }: { tasks: Tasks }): VNode | null {
  const list = tasks.list.value
  // The version stands for the states: reading them all would draw the list again with each percent of a task.
  tasks.version.value
  if (list.length === 0) return null
  const done = list.filter(({ state }) => state.peek().is === 'done')
  const others = list.filter(({ state }) => state.peek().is !== 'done')
  const asking = list.filter(({ state }) => state.peek().is === 'exists').length
  const open = list.filter(({ state }) => !hasEnded(state.peek())).length
  const isAllDone = open === 0 && list.every(({ state }) => state.peek().is !== 'failed')
  const shown = [...others, ...done.reverse()]
  const all = (text: string, ifExists: IfExists) =>
    html`<button type="button" onClick=${() => tasks.answerAll(ifExists)}>${text}</button>`
  return html`<details class="tasks" open>
    <summary>${texts.files.tasks} (${done.length}/${list.length})</summary>
    <p role="status" class="hint">${asking > 0 ? texts.files.thereAlready(asking) : isAllDone && texts.files.allDone}</p>
    <p class="answers">
      ${
        asking > 0 &&
        open > 1 &&
        html`${all(texts.files.replaceAll, 'replace')}
          ${all(texts.files.keepAll, 'keepBoth')}
          ${all(texts.files.skipAll, 'skip')}`
      }
      <button type="button" onClick=${() => tasks.clear()}>${texts.files.clear}</button>
      ${open > 0 && html`<button type="button" onClick=${() => tasks.cancelAll()}>${texts.files.cancelAll}</button>`}
    </p>
    <ul>
      ${shown.slice(0, mostShown).map((task) => html`<${TaskRow} key=${task} task=${task} tasks=${tasks} />`)}
    </ul>
    <p class="hint">${shown.length > mostShown && texts.files.moreTasks(shown.length - mostShown)}</p>
  </details>`
}

function TaskRow({ task, tasks }: { task: Task; tasks: Tasks }): VNode {
  const state = task.state.value
  const name = shownName(task.work.title)
  const button = (text: string, onClick: () => void) =>
    html`<button type="button" aria-label=${texts.files.of(text, name)} onClick=${onClick}>${text}</button>`
  const answers: readonly (readonly [string, IfExists])[] = [
    [texts.files.replace, 'replace'],
    [texts.files.keepBoth, 'keepBoth'],
    [texts.files.skip, 'skip'],
  ]
  return html`<li>
    <span class="name" title=${name}><bdi>${name}</bdi></span>
    ${state.is === 'running' && html`<progress max="100" value=${state.percent ?? undefined} aria-label=${name}></progress>`}
    <span class=${state.is === 'failed' ? 'fault' : 'state'}>${stateText(state)}</span>
    ${state.is === 'exists' && answers.map(([text, how]) => button(text, () => tasks.answer(task, how)))}
    ${state.is === 'failed' && state.canRetry && button(texts.files.retry, () => tasks.retry(task))}
    ${!hasEnded(state) && state.is !== 'exists' && button(texts.cancel, () => tasks.cancel(task))}
  </li>`
}

function stateText(state: Task['state']['value']): string {
  if (state.is === 'failed') return state.reason || texts.files.failed
  if (state.is !== 'running') return texts.files.state[state.is]
  return state.percent === null ? '' : texts.files.state.running(state.percent)
}
