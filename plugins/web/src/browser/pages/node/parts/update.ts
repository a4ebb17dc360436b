import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { Action } from '../../../action.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { dateText } from '../../../times.ts'

interface UpdateState {
  readonly version: NodeAnswers['GET /api/update/version']
  readonly status: NodeAnswers['GET /api/update/status']
  readonly progress: NodeAnswers['GET /api/update/progress']
  readonly details: NodeAnswers['GET /api/update/details']
  readonly attempts: NodeAnswers['GET /api/update/history']['attempts']
}

type Change = 'POST /api/update/install' | 'POST /api/update/back'

/** The version that served these pages; empty until the node has told. */
const pagesVersion = signal('')

/** Whether an update was running when the node last told. It lives on while other parts and pages are shown. */
const wasUpdating = signal(false)

/** The request of the person to change the version, and whether the node has answered it. */
const asked = signal<{ readonly change: Change; readonly isAnswered: boolean } | null>(null)

/** The version of the node: check for a new one, install it, and go back. */
export function UpdatePart({ page }: { page: PageContext }): VNode {
  const update = usePolled<UpdateState>(page, {
    async load(get) {
      const before = asked.value
      const [version, status, progress, details, { attempts }] = await Promise.all([
        get('GET /api/update/version'),
        get('GET /api/update/status'),
        get('GET /api/update/progress'),
        get('GET /api/update/details'),
        get('GET /api/update/history'),
      ])
      const told = { version, status, progress, details, attempts }
      // An answer from before the end of a request does not tell how that ended.
      if (asked.value === before) follow(page, told)
      return told
    },
    pauseMs: () => (wasUpdating.value ? 1000 : 15_000),
  })
  const state = update.value.value
  const words = texts.node.update

  /** The node may change its version before it answers, so a request without an answer has not failed. */
  const run = async (change: Change, query?: Readonly<Record<string, string>>) => {
    wasUpdating.value = true
    asked.value = { change, isAnswered: false }
    void update.refresh()
    try {
      const { success, message } = await request(page, change, query && { query })
      wasUpdating.value = success
      page.notice(message)
    } catch (error) {
      if (error instanceof TypeError) return
      wasUpdating.value = false
      throw error
    } finally {
      asked.value = { change, isAnswered: true }
      void update.refresh()
    }
  }
  const check = async () => {
    try {
      const found = await request(page, 'POST /api/update/check')
      page.notice(found.updateAvailable ? words.found(found.latestVersion) : words.upToDate)
    } finally {
      await update.refresh()
    }
  }
  const install = async (version: string, canRollBack: boolean) => {
    const answer = await ask({
      title: words.installTitle(version),
      text: canRollBack ? words.installText : `${words.installText} ${words.noRollback}`,
      agree: words.install(version),
    })
    if (answer === null) return
    await run('POST /api/update/install', canRollBack ? undefined : { withoutWayBack: 'true' })
  }
  const back = async (version: string) => {
    const answer = await ask({
      title: words.backTitle(version),
      text: words.backText,
      agree: words.back(version),
    })
    if (answer !== null) await run('POST /api/update/back')
  }
  if (state === null) return html`<${PolledState} of=${update} />`
  const { status, progress, details, attempts } = state
  const { latestVersion, currentVersion } = status
  const { wayBack } = details
  const isUpdating = progress.isUpdating || wasUpdating.value
  return html`
    <${PolledState} of=${update} />
    ${
      pagesVersion.value !== currentVersion &&
      html`<p class="told">
        ${words.reloadText(currentVersion)}
        <button type="button" onClick=${() => location.reload()}>${words.reload}</button>
      </p>`
    }
    <section class="card box" aria-label=${words.title}>
      <p class="fact">${status.updateAvailable ? words.available(latestVersion) : words.version(currentVersion)}</p>
      <p class="note">${aboutVersion(state)}</p>
      <p class="note">${details.checkedAt && words.checked(dateText(details.checkedAt))} ${details.automatic && words.automatic}</p>
      <p class="fault">${details.checkProblem && words.problem(details.checkProblem)}</p>
      ${isUpdating && html`<p>${words.running}</p><progress aria-label=${words.progress}></progress>`}
      <p role="status">${(isUpdating || attempts.length > 0) && progress.progress}</p>
      ${details.probationUntil && html`<p>${words.watched(dateText(details.probationUntil))}</p>`}
      ${status.updateAvailable && details.installProblem && html`<p class="told">${details.installProblem}</p>`}
      <p class="choices">
        ${!isUpdating && html`<${Action} key="check" page=${page} run=${check}>${words.check}<//>`}
        ${
          !isUpdating &&
          status.updateAvailable &&
          details.installProblem === null &&
          html`<${Action} key="install" page=${page} main run=${() => install(latestVersion, details.withoutWayBack !== latestVersion)}>${words.install(latestVersion)}<//>`
        }
      </p>
    </section>
    ${
      status.updateAvailable &&
      status.releaseNotes !== '' &&
      html`<h2>${words.notes(latestVersion)}</h2>
        <pre class="notes" tabindex="0">${status.releaseNotes}</pre>`
    }
    ${
      wayBack &&
      !isUpdating &&
      html`<p>${words.rollback(wayBack.version, dateText(wayBack.until))}</p>
        ${
          wayBack.problems.length > 0
            ? html`<p class="fault">${words.rollbackProblems(wayBack.version)}</p>
              <ul>${wayBack.problems.map((problem) => html`<li key=${problem}>${problem}</li>`)}</ul>`
            : html`<${Action} page=${page} run=${() => back(wayBack.version)}>${words.back(wayBack.version)}<//>`
        }`
    }
    <h2>${words.history}</h2>
    ${attempts.length === 0 && html`<p class="hint">${words.noHistory}</p>`}
    <ul class=${attempts.length > 0 ? 'items card' : 'items'} aria-label=${words.history}>
      ${attempts.map(
        ({ from, to, startedAt, result, reason }) => html`<li key=${startedAt}>
          <div class="grow">
            <strong>${words.attempt(from, to)}</strong> <span class="badge">${words.results[result] ?? result}</span>
            <p class="note">${dateText(startedAt)} ${reason}</p>
          </div>
        </li>`,
      )}
    </ul>
  `
}

/** Tells when the present version was built, and what is known about newer ones. */
function aboutVersion({ version, status, details }: UpdateState): string {
  const words = texts.node.update
  const built = words.built(dateText(version.buildDate))
  if (status.updateAvailable) return `${words.version(status.currentVersion)} ${built}`
  return `${built} ${details.checkedAt === null ? words.unknown : words.current}`
}

/** Tells how an update ended, once. */
function follow(page: PageContext, { status, progress, attempts }: UpdateState): void {
  const words = texts.node.update
  if (pagesVersion.value === '') pagesVersion.value = status.currentVersion
  const [last] = attempts
  if (progress.isUpdating || last?.result === 'running') {
    wasUpdating.value = true
    return
  }
  if (!wasUpdating.value || asked.value?.isAnswered === false) return
  const failed = asked.value?.change === 'POST /api/update/back' ? undefined : words.ended[last?.result ?? '']
  wasUpdating.value = false
  asked.value = null
  // The former version may have answered some of the requests, so the current version may be that of before.
  if (failed === undefined) page.notice(words.arrived(last?.to ?? status.currentVersion))
  else page.notice([failed, last?.reason].filter(Boolean).join(': '), 'error')
}
