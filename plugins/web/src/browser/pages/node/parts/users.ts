import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Action } from '../../../action.ts'
import { AddressText } from '../../../address-text.ts'
import { Avatar } from '../../../avatar.ts'
import { Field } from '../../../field.ts'
import { html } from '../../../html.ts'
import { type IconName, icon } from '../../../icon.ts'
import { MenuButton, type MenuItem } from '../../../menu.ts'
import { nameHere } from '../../../name-field.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { ifRunning, Refusal } from '../../../refusal.ts'
import { reasonOf, request } from '../../../request.ts'
import * as texts from '../../../texts.ts'
import { isThisComputer } from '../../../this-computer.ts'
import { dateText, shortDateText } from '../../../times.ts'
import { UsageBar } from '../../../usage-bar.ts'
import { userNameOf } from '../../../user-name.ts'
import { askQuota, type FileUsage, usageText, useFileUsage } from './file-usage.ts'

type Account = NodeAnswers['GET /api/users']['users'][number]
type UsageOfUser = FileUsage['users'][number]

/** The users of the node: let in, add, rename, disable and delete them. */
export function UsersPart({ page }: { page: PageContext }): VNode {
  const users = usePolled<readonly Account[]>(page, {
    load: async (get) => (await get('GET /api/users')).users,
    pauseMs: () => 15_000,
  })
  const usage = useFileUsage(page)
  const words = texts.node.users
  return html`
    <${AccessRequests} page=${page} onAdmitted=${() => users.refresh()} />
    <h2>${words.list}</h2>
    <${PolledState} of=${users} />
    <ul class="items card" aria-label=${words.list}>
      ${(users.value.value ?? []).map((user) => {
        const taken = usage.all?.users.find(({ uuid }) => uuid === user.uuid)
        const onChanged = () => Promise.all([users.refresh(), usage.refresh()])
        return html`<${UserLine} key=${user.uuid} page=${page} user=${user} taken=${taken} onChanged=${onChanged} />`
      })}
    </ul>
    <${Invitation} page=${page} />
    <${AddUser} page=${page} onAdded=${() => users.refresh()} />
  `
}

interface UserLineProps {
  readonly page: PageContext
  readonly user: Account
  /** `undefined` while the node has no files. */
  readonly taken: UsageOfUser | undefined
  readonly onChanged: () => Promise<unknown>
}

function UserLine({ page, user, taken, onChanged }: UserLineProps): VNode {
  const { uuid, username, wallet, owner, disabled, deletionDue, lastSeen } = user
  const words = texts.node.users
  const change = async (body: { readonly disabled?: boolean; readonly username?: string }) => {
    await request(page, 'PATCH /api/users/{uuid}', { names: { uuid }, body })
    await onChanged()
  }
  const disable = async () => {
    const title = words.disableTitle(username)
    const answer = await ask({ title, text: words.disableText, agree: words.disable })
    if (answer !== null) await change({ disabled: true })
  }
  const remove = async () => {
    const title = words.deleteTitle(username)
    const answer = await ask({ title, text: words.deleteText, agree: words.delete, danger: true })
    if (answer === null) return
    await request(page, 'DELETE /api/users/{uuid}', { names: { uuid } })
    await onChanged()
  }
  const rename = async () => {
    let chosen = username
    const check = async (typed: string) => {
      const name = userNameOf(typed)
      if (name === null) return texts.account.nameHint
      chosen = name
      return change({ username: name }).then(() => null, reasonOf)
    }
    const field = { label: texts.account.name, value: username }
    const answer = await ask({ title: words.renameTitle(username), field, agree: words.rename, check })
    if (answer === null || chosen === username) return
    const undo = { label: words.undoRename, run: () => void attempt(() => change({ username })) }
    page.notice(words.renamed(username, chosen), 'done', undo)
    if (uuid === page.user.uuid) await page.refresh()
  }
  const setQuota = async () => {
    if (taken === undefined) return
    await askQuota(page, taken)
    await onChanged()
  }
  const attempt = (work: () => Promise<void>) =>
    work().catch((error: unknown) => page.notice(reasonOf(error), 'error'))
  const item = (label: string, icon: IconName, work: () => Promise<void>): MenuItem => ({
    label,
    icon,
    run: () => void attempt(work),
  })
  const items: MenuItem[] = [
    item(words.rename, 'pencil', rename),
    ...(taken ? [item(words.quota, 'hard-drive', setQuota)] : []),
    ...(!owner && disabled === null ? [item(words.disable, 'lock', disable)] : []),
    ...(!owner && disabled !== null
      ? [item(deletionDue === null ? words.enable : words.undo, 'undo-2', () => change({ disabled: false }))]
      : []),
    ...(!owner && deletionDue === null ? [{ ...item(words.delete, 'trash-2', remove), isDanger: true }] : []),
  ]
  const state = stateOf(user)
  return html`<li>
    <${Avatar} name=${username} />
    <div class="grow">
      <strong>${username}</strong> ${state !== '' && html`<span class=${`badge ${disabled === null ? '' : 'warning'}`}>${state}</span>`}
      <p class="note">${[seenText(lastSeen), taken && usageText(taken)].filter(Boolean).join(' · ')}</p>
      ${taken?.quota != null && html`<${UsageBar} bytes=${taken.bytes} space=${{ free: Math.max(0, taken.quota - taken.bytes), total: taken.quota }} />`}
      <p class="note">${wallet}</p>
    </div>
    <${MenuButton} class="icon-only quiet" label=${texts.node.of(words.actions, username)} items=${items}>${icon('ellipsis')}<//>
  </li>`
}

/** Milliseconds since their last request for which a person counts as being here. The node notes the time once a minute. */
const hereMs = 3 * 60_000

/** When a user came last. */
export function seenText(lastSeen: string | null): string {
  const words = texts.node.users
  if (lastSeen === null) return words.neverSeen
  const sinceMs = Date.now() - Date.parse(lastSeen)
  return sinceMs < hereMs ? words.here : words.seen(shortDateText(lastSeen))
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
  return html`<section class="card warning requests">
    <h2>${words.requests}</h2>
    <p class="note">${words.requestsText}</p>
    <ul class="items" aria-label=${words.requests}>
      ${open.map((asked) => {
        const { wallet, username, requested } = asked
        const label = (text: string) => texts.node.of(text, username)
        return html`<li key=${wallet}>
          <${Avatar} name=${username} />
          <div class="grow">
            <strong>${username}</strong> <span class="note">${words.requested(shortDateText(requested))}</span>
            <p class="note">${wallet}</p>
          </div>
          <span class="toolbar">
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

/** How somebody comes to the node: by its address, and by asking the owner. */
function Invitation({ page }: { page: PageContext }): VNode {
  const words = texts.node.users
  const reach = usePolled<{ readonly address: string | undefined }>(page, {
    load: async (get) => ({ address: (await ifRunning(get('GET /api/overlay/status')))?.addresses[0] }),
    pauseMs: () => 60_000,
  })
  const address = reach.value.value?.address ?? (isThisComputer() ? null : location.origin)
  return html`<section class="card box">
    <h2>${words.invite}</h2>
    <p class="note">${address === null ? words.inviteHere : words.inviteText}</p>
    ${address === null ? html`<p class="more"><a class="alone" href="#/node/overlay">${words.inviteHow}</a></p>` : html`<${AddressText} value=${address} main />`}
  </section>`
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
  return html`<form class="card add" ref=${form} onSubmit=${submit}>
    <h2>${words.addTitle}</h2>
    <p class="note">${words.addText}</p>
    <${Field} label=${words.wallet} required autocomplete="off" spellcheck=${false} ...${fieldOf('wallet')} />
    <${Field} label=${words.username} hint=${nameHere(typed.username.value)} autocomplete="off" spellcheck=${false} ...${fieldOf('username')} />
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
