import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Action } from '../../../action.ts'
import { Field } from '../../../field.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { Refusal } from '../../../refusal.ts'
import { reasonOf, request } from '../../../request.ts'
import { texts } from '../../../texts.ts'
import { dateText } from '../../../times.ts'
import { userNameOf } from '../../../user-name.ts'
import { askQuota, Storages, usageText, useFileUsage } from './file-usage.ts'

type Account = NodeAnswers['GET /api/users']['users'][number]

/** The users of the node: add, disable and delete them. */
export function UsersPart({ page }: { page: PageContext }): VNode {
  const users = usePolled<readonly Account[]>(page, {
    load: async (get) => (await get('GET /api/users')).users,
    pauseMs: () => 15_000,
  })
  const usage = useFileUsage(page)
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
    <${AccessRequests} page=${page} onAdmitted=${() => users.refresh()} />
    <${AddUser} page=${page} onAdded=${() => users.refresh()} />
    <h3>${words.list}</h3>
    <${PolledState} of=${users} />
    <ul class="rows" aria-label=${words.list}>
      ${(users.value.value ?? []).map((user) => {
        const { uuid, username, wallet, owner, disabled, deletionDue } = user
        const taken = usage.all?.users.find((one) => one.uuid === uuid)
        const setQuota = async () => {
          if (taken === undefined) return
          await askQuota(page, taken)
          await usage.refresh()
        }
        const button = (text: string, run: () => Promise<void>) =>
          html`<${Action} key=${text} page=${page} label=${texts.node.of(text, username)} run=${run}>${text}<//>`
        return html`<li key=${uuid}>
          <div>
            <strong>${username}</strong> <span class="state">${stateOf(user)}</span>
            <p class="hint">${wallet}</p>
            <p class="hint">${taken && usageText(taken)}</p>
          </div>
          <span class="actions">
            ${taken && button(words.quota, setQuota)}
            ${!owner && disabled === null && button(words.disable, () => disable(user))}
            ${!owner && disabled !== null && button(deletionDue === null ? words.enable : words.undo, () => change(user, false))}
            ${!owner && deletionDue === null && button(words.delete, () => remove(user))}
          </span>
        </li>`
      })}
    </ul>
    ${usage.all && html`<${Storages} all=${usage.all} />`}
  `
}

function stateOf({ owner, added, disabled, deletionDue }: Account): string {
  const words = texts.node.users
  if (owner) return words.owner
  if (deletionDue !== null) return words.deletionDue(dateText(deletionDue))
  if (disabled !== null) return words.disabledSince(dateText(disabled))
  return added === null ? '' : words.byHand
}

type OpenRequest = NodeAnswers['GET /api/access-requests']['requests'][number]

/** The people who ask for admission. Nothing is shown if there are none, or if the node takes no requests. */
function AccessRequests({ page, onAdmitted }: { page: PageContext; onAdmitted: () => Promise<void> }) {
  const words = texts.node.users
  const requests = usePolled<readonly OpenRequest[]>(page, {
    load: async (get) => {
      const { requests: areTaken } = await get('GET /api/web/sign-in')
      return areTaken ? (await get('GET /api/access-requests')).requests : []
    },
    pauseMs: () => 15_000,
  })
  const close = async (wallet: string) => {
    await request(page, 'DELETE /api/access-requests/{wallet}', { names: { wallet } })
    await requests.refresh()
  }
  const add = async (wallet: string, username: string) => {
    const { user } = await request(page, 'POST /api/users', { body: { wallet, username } })
    page.notice(words.added(user.username))
  }
  /** Lets a person in. If somebody else has the name, the owner chooses another one. */
  const admit = async ({ wallet, username }: OpenRequest) => {
    const reason = await add(wallet, username).then(() => null, toConflict)
    if (reason !== null) {
      const title = words.admitTitle(username)
      const check = async (typed: string) => {
        const name = userNameOf(typed)
        return name === null ? texts.account.nameHint : add(wallet, name).then(() => null, reasonOf)
      }
      const field = { label: texts.account.name, value: username }
      if ((await ask({ title, text: reason, field, agree: words.admit, check })) === null) return
    }
    await close(wallet)
    await onAdmitted()
  }
  const open = requests.value.value ?? []
  if (open.length === 0) return null
  return html`<section class="requests">
    <h3>${words.requests}</h3>
    <p class="hint">${words.requestsText}</p>
    <ul class="rows" aria-label=${words.requests}>
      ${open.map((asked) => {
        const { wallet, username, requested } = asked
        const label = (text: string) => texts.node.of(text, username)
        return html`<li key=${wallet}>
          <div>
            <strong>${username}</strong> <span class="state">${words.requested(dateText(requested))}</span>
            <p class="hint">${wallet}</p>
          </div>
          <span class="actions">
            <${Action} page=${page} main label=${label(words.admit)} run=${() => admit(asked)}>${words.admit}<//>
            <${Action} page=${page} label=${label(words.refuse)} run=${() => close(wallet)}>${words.refuse}<//>
          </span>
        </li>`
      })}
    </ul>
  </section>`
}

/** @returns the reason of a refusal that another name may mend */
function toConflict(error: unknown): string {
  if (error instanceof Refusal && error.status === 409) return error.message
  throw error
}

/** The typed values stay while another part or page is shown. */
const typed = { wallet: signal(''), username: signal('') }
const noFaults = { wallet: '', username: '', form: '' }
const faults = signal(noFaults)

function AddUser({ page, onAdded }: { page: PageContext; onAdded: () => Promise<void> }): VNode {
  const words = texts.node.users
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const [wallet, name] = [typed.wallet.value.trim(), typed.username.value.trim()]
    const username = name === '' ? undefined : userNameOf(name)
    faults.value = username === null ? { ...noFaults, username: texts.account.nameHint } : noFaults
    if (username === null) return
    try {
      const body = { wallet, ...(username !== undefined && { username }) }
      const { user } = await request(page, 'POST /api/users', { body })
      typed.wallet.value = ''
      typed.username.value = ''
      page.notice(words.added(user.username))
      await onAdded()
      form.current?.querySelector('input')?.focus()
    } catch (error) {
      faults.value = { ...noFaults, [placeOf(error)]: reasonOf(error) }
    }
  }
  const fieldOf = (name: keyof typeof typed) => ({
    name,
    value: typed[name].value,
    fault: faults.value[name],
    onInput: ({ target }: InputEvent) => {
      typed[name].value = (target as HTMLInputElement).value
    },
  })
  return html`<form class="add" ref=${form} onSubmit=${submit}>
    <h3>${words.add}</h3>
    <p class="hint">${words.addText}</p>
    <${Field} label=${words.wallet} required autocomplete="off" spellcheck=${false} ...${fieldOf('wallet')} />
    <${Field} label=${words.username} autocomplete="off" spellcheck=${false} ...${fieldOf('username')} />
    <p class="fault" role="alert">${faults.value.form}</p>
    <button type="submit" class="main">${words.add}</button>
  </form>`
}

/** Returns the place of the reason: the node has refused the wallet, or the name since somebody has it. */
function placeOf(error: unknown): keyof typeof noFaults {
  if (!(error instanceof Refusal)) return 'form'
  if (error.status === 400) return 'wallet'
  return error.status === 409 && typed.username.value !== '' ? 'username' : 'form'
}
