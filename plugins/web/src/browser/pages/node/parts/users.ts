import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '../../../html.ts'
import { namePattern } from '../../../name-pattern.ts'
import { ask } from '../../../questions.ts'
import { reasonOf, request } from '../../../request.ts'
import { texts } from '../../../texts.ts'
import { Action } from '../action.ts'
import { PolledState, usePolled } from '../polled.ts'
import { dateText } from '../times.ts'

type Account = NodeAnswers['GET /api/users']['users'][number]

/** The users of the node: add, disable and delete them. */
export function UsersPart({ page }: { page: PageContext }): VNode {
  const users = usePolled<readonly Account[]>(page, {
    load: async (get) => (await get('GET /api/users')).users,
    pauseMs: () => 15_000,
  })
  const words = texts.node.users
  const change = async ({ uuid }: Account, disabled: boolean) => {
    await request(page, 'PATCH /api/users/{uuid}', { names: { uuid }, body: { disabled } })
    await users.refresh()
  }
  const disable = async (user: Account) => {
    const { username } = user
    const title = words.disableTitle(username)
    const answer = await ask({ title, text: words.disableText, agree: words.disable })
    if (answer !== null) await change(user, true)
  }
  const remove = async ({ uuid, username }: Account) => {
    const title = words.deleteTitle(username)
    const answer = await ask({ title, text: words.deleteText, agree: words.delete })
    if (answer === null) return
    await request(page, 'DELETE /api/users/{uuid}', { names: { uuid } })
    await users.refresh()
  }
  return html`
    <${AddUser} page=${page} onAdded=${() => users.refresh()} />
    <${PolledState} of=${users} />
    <ul class="rows" aria-label=${words.list}>
      ${(users.value.value ?? []).map((user) => {
        const { uuid, username, wallet, owner, disabled, deletionDue } = user
        const button = (text: string, run: () => Promise<void>) =>
          html`<${Action} key=${text} page=${page} label=${texts.node.of(text, username)} run=${run}>${text}<//>`
        return html`<li key=${uuid}>
          <div>
            <strong>${username}</strong> <span class="state">${stateOf(user)}</span>
            <p class="hint">${wallet}</p>
          </div>
          ${
            !owner &&
            html`<span class="actions">
              ${disabled === null && button(words.disable, () => disable(user))}
              ${disabled !== null && button(deletionDue === null ? words.enable : words.undo, () => change(user, false))}
              ${deletionDue === null && button(words.delete, () => remove(user))}
            </span>`
          }
        </li>`
      })}
    </ul>
  `
}

function stateOf({ owner, added, disabled, deletionDue }: Account): string {
  const words = texts.node.users
  if (owner) return words.owner
  if (deletionDue !== null) return words.deletionDue(dateText(deletionDue))
  if (disabled !== null) return words.disabledSince(dateText(disabled))
  return added === null ? '' : words.byHand
}

/** The typed values stay while another part or page is shown. */
const typed = { wallet: signal(''), username: signal('') }
const fault = signal('')

function AddUser({ page, onAdded }: { page: PageContext; onAdded: () => Promise<void> }): VNode {
  const words = texts.node.users
  const first = useRef<HTMLInputElement>(null)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    fault.value = ''
    const [wallet, username] = [typed.wallet.value.trim(), typed.username.value.trim()]
    try {
      const body = { wallet, ...(username !== '' && { username }) }
      const { user } = await request(page, 'POST /api/users', { body })
      typed.wallet.value = ''
      typed.username.value = ''
      page.notice(words.added(user.username))
      await onAdded()
    } catch (error) {
      fault.value = reasonOf(error)
    }
    first.current?.focus()
  }
  const field = (name: keyof typeof typed, label: string) => html`<label>
    ${label}
    <input
      ref=${name === 'wallet' ? first : null}
      name=${name}
      value=${typed[name].value}
      required=${name === 'wallet'}
      pattern=${name === 'username' ? namePattern : undefined}
      title=${name === 'username' ? texts.account.nameHint : undefined}
      autocomplete="off"
      spellcheck=${false}
      onInput=${({ target }: InputEvent) => {
        typed[name].value = (target as HTMLInputElement).value
      }}
    />
  </label>`
  return html`<form class="add" onSubmit=${submit}>
    <h3>${words.add}</h3>
    <p class="hint">${words.addText}</p>
    ${field('wallet', words.wallet)} ${field('username', words.username)}
    <p class="fault" role="alert">${fault.value}</p>
    <button type="submit" class="main">${words.add}</button>
  </form>`
}
