import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../../html.ts'
import { Dialog } from '../../../questions.ts'
import { reasonOf, request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { dateText } from '../../../times.ts'

/** The changes that a restore would make. */
type Comparison = NodeAnswers['POST /api/backup/restore']
/** The first of a list, which may be long. */
type Excerpt = Comparison['addedUsers']
type Person = NonNullable<Comparison['owner']['restored']>

interface RestoreProps {
  readonly page: PageContext
  readonly filename: string
  /** Whether the person has to give a recovery key: the node has none. */
  readonly isEncrypted: boolean
  /** Whether another restore is planned, which canceling this one must not take back. */
  readonly isOtherPlanned: boolean
  readonly onClose: () => void
}

/** Restores a backup in two steps: compares it with the node, then asks whether to plan the restore. */
export function RestoreDialog({ page, filename, isEncrypted, isOtherPlanned, onClose }: RestoreProps): VNode {
  const words = texts.node.restore
  const comparison = useSignal<Comparison | null>(null)
  const isWorking = useSignal(false)
  const fault = useSignal('')
  const isDone = useRef(false)
  const ask = (body: object) => request(page, 'POST /api/backup/restore', { body })

  /** The prepared restore takes as much room as the backup. If this fails, the next restore or start removes it. */
  const discard = () => {
    if (!isOtherPlanned) request(page, 'DELETE /api/backup/restore').catch(() => {})
  }
  useLayoutEffect(
    () => () => {
      if (comparison.value !== null && !isDone.current) discard()
      isDone.current = true
    },
    [],
  )
  const run = async (work: () => Promise<void>) => {
    if (isWorking.value) return
    isWorking.value = true
    fault.value = ''
    try {
      await work()
    } catch (error) {
      fault.value = reasonOf(error)
    } finally {
      isWorking.value = false
    }
  }
  const compare = (event: SubmitEvent) => {
    event.preventDefault()
    const data = new FormData(event.target as HTMLFormElement)
    const key = String(data.get('key') ?? '').trim()
    const body = {
      filename,
      confirm: false,
      newIdentity: data.has('newIdentity'),
      ...(key !== '' && { key }),
    }
    void run(async () => {
      comparison.value = await ask(body)
      // The dialog was closed meanwhile.
      if (isDone.current) discard()
    })
  }
  const plan = (restart: boolean) =>
    run(async () => {
      const { replaces } = await ask({ prepared: comparison.value?.prepared, confirm: true, restart })
      isDone.current = true
      const text = restart ? words.restarting : words.planned
      page.notice(replaces === null ? text : `${text} ${words.replaced(replaces)}`)
      onClose()
    })
  const found = comparison.value
  return html`<${Dialog} title=${words.title(filename)} onClose=${onClose}>
    ${
      found === null
        ? html`<form onSubmit=${compare}>
            <p>${words.text}</p>
            ${isEncrypted && html`<label>${words.key}<input name="key" type="password" required autocomplete="off" autofocus /></label>`}
            <label class="choice"><input name="newIdentity" type="checkbox" /> ${words.newIdentity}</label>
            <p class="hint" role="status">${isWorking.value && words.comparing}</p>
            <p class="fault" role="alert">${fault.value}</p>
            <p class="buttons">
              <button type="button" onClick=${onClose}>${texts.cancel}</button>
              <button type="submit" class="main" aria-disabled=${isWorking.value}>${words.compare}</button>
            </p>
          </form>`
        : html`<${Changes} comparison=${found} />
            <p class="fault" role="alert">${fault.value}</p>
            <p class="buttons">
              <button type="button" onClick=${onClose}>${texts.cancel}</button>
              <button type="button" onClick=${() => plan(false)}>${words.plan}</button>
              ${found.supervised && html`<button type="button" class="main" onClick=${() => plan(true)}>${words.now}</button>`}
            </p>`
    }
  <//>`
}

/** Shows the changes that the restore would make. It takes the focus, since the form before it is gone. */
function Changes({ comparison }: { comparison: Comparison }): VNode {
  const element = useRef<HTMLUListElement>(null)
  useLayoutEffect(() => element.current?.focus(), [])
  return html`<ul ref=${element} tabindex="-1">
    ${changesOf(comparison).map((line) => html`<li key=${line}>${line}</li>`)}
  </ul>`
}

function changesOf(comparison: Comparison): string[] {
  const words = texts.node.restore
  const { moment, addedUsers, removedUsers, changedUsers, owner, plugins, identity } = comparison
  const lines = [words.date(dateText(moment))]
  if (addedUsers.count > 0) lines.push(words.addedUsers(listed(addedUsers)))
  if (removedUsers.count > 0) lines.push(words.removedUsers(listed(removedUsers)))
  if (changedUsers.count > 0) {
    const names = changedUsers.first.map(
      ({ present, restored }) => `${described(present)} → ${described(restored)}`,
    )
    lines.push(words.changedUsers(listed({ count: changedUsers.count, first: names })))
  }
  if ([addedUsers, removedUsers, changedUsers].every(({ count }) => count === 0)) lines.push(words.sameUsers)
  if (owner.restored !== null && owner.restored.wallet !== owner.present?.wallet)
    lines.push(words.owner(described(owner.restored)))
  if (plugins.count > 0) lines.push(words.plugins(listed(plugins)))
  const identityText = words.identity[identity]
  if (identityText !== undefined) lines.push(identityText)
  lines.push(words.everybody)
  return lines
}

function described({ username, wallet }: Person): string {
  return `${username} (${wallet})`
}

function listed({ count, first }: Excerpt): string {
  const rest = count - first.length
  return [...first, ...(rest > 0 ? [texts.node.restore.more(rest)] : [])].join(', ')
}
