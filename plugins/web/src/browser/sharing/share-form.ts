import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Field } from '../field.ts'
import { html } from '../html.ts'
import { reasonOf } from '../request.ts'
import * as texts from '../texts.ts'
import { shortDateText } from '../times.ts'
import { PictureData } from './picture-data.ts'

type ShareList = NodeAnswers['GET /api/shares']
/** A link to a file or folder. */
export type Share = ShareList['shares'][number]

/** The file or folder that a link leads to. */
export interface Subject {
  readonly path: string
  readonly type: Share['type']
  /** Whether it may be, or have, pictures. */
  readonly hasPictures: boolean
}

interface ShareFormProps {
  /** The path of what is gone is `null`. */
  readonly subject: Omit<Subject, 'path'> & { readonly path: string | null }
  /** The link that is changed; `null` for a new one. */
  readonly share: Share | null
  readonly days: Pick<ShareList, 'defaultDays' | 'maxDays'>
  /** The text of the button that agrees. */
  readonly agree: string
  /** Rejects with the reason of the node if it refuses. */
  readonly onAgree: (terms: object) => Promise<void>
  readonly onCancel: () => void
  readonly page: PageContext
}

const words = texts.links

/** Days after which a link may end, beside those of the configuration. */
const terms = [1, 7, 30, 90, 365]

const dayMs = 86_400_000

/** Bytes of the unit in which people write how much guests may upload. */
const gigabyte = 1e9

/** The terms that a person chooses for a link: a new one, or one that is there. */
export function ShareForm({ subject, share, days, agree, onAgree, onCancel, page }: ShareFormProps): VNode {
  const kind = useSignal<Share['kind']>(share?.kind ?? 'read')
  const hasPassword = useSignal(share?.password ?? false)
  const cleans = useSignal(share?.keepMetadata !== true)
  const fault = useSignal('')
  const isBusy = useSignal(false)
  const element = useRef<HTMLFormElement>(null)
  // It may appear after its dialog, in the place of what had the focus.
  useLayoutEffect(() => element.current?.querySelector<HTMLElement>('input:checked, select')?.focus(), [])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    isBusy.value = true
    fault.value = ''
    try {
      await onAgree(termsOf(new FormData(event.target as HTMLFormElement), subject, share, days.maxDays))
    } catch (error) {
      fault.value = reasonOf(error)
    } finally {
      isBusy.value = false
    }
  }
  const isFolder = subject.type === 'directory'
  const chooseKind = ({ currentTarget }: Event) => {
    kind.value = (currentTarget as HTMLInputElement).value as Share['kind']
  }
  const toggle = (of: { value: boolean }) => (event: Event) => {
    of.value = (event.currentTarget as HTMLInputElement).checked
  }
  return html`<form class="share" ref=${element} onSubmit=${submit}>
    ${
      isFolder &&
      html`<fieldset>
        <legend>${words.guests}</legend>
        ${(['read', 'drop', 'both'] as const).map(
          (one) => html`<label key=${one} class="choice">
            <input type="radio" name="kind" value=${one} checked=${kind.value === one} onChange=${chooseKind} />
            <span>${words.kinds[one]} <span class="note">${words.kindHints[one]}</span></span>
          </label>`,
        )}
      </fieldset>`
    }
    <label>
      ${words.ends}
      <select name="days">
        ${share !== null && html`<option value="">${words.asNow(shortDateText(share.expires))}</option>`}
        ${offeredTerms(days).map((term) => html`<option key=${term} value=${term} selected=${share === null && term === days.defaultDays}>${words.term(term)}</option>`)}
      </select>
    </label>
    <label class="choice"><input type="checkbox" name="hasPassword" checked=${hasPassword.value} onChange=${toggle(hasPassword)} /> ${words.password}</label>
    ${
      hasPassword.value &&
      html`<${Field}
        name="password"
        label=${words.newPassword}
        hint=${share?.password ? words.keepPassword : words.passwordHint}
        fault=""
        required=${!share?.password}
        maxlength="200"
        autocomplete="off"
        spellcheck=${false}
      />`
    }
    ${kind.value !== 'read' && html`<${Uploads} share=${share} />`}
    ${kind.value !== 'drop' && subject.hasPictures && html`<${Pictures} path=${subject.path} cleans=${cleans.value} page=${page} onChange=${toggle(cleans)} />`}
    <p class="fault" role="alert">${fault.value}</p>
    <p class="buttons">
      <button type="button" onClick=${onCancel}>${texts.cancel}</button>
      <button type="submit" class="main" aria-disabled=${isBusy.value}>${agree}</button>
    </p>
  </form>`
}

/** How much guests may upload, and whether they tell who they are. */
function Uploads({ share }: { readonly share: Share | null }): VNode {
  const gigabytes = (share?.maxBytes ?? 10 * gigabyte) / gigabyte
  return html`<div class="limits">
    <${Field} name="gigabytes" type="number" min="0.001" step="any" required label=${words.mostBytes} fault="" defaultValue=${gigabytes} />
    <${Field} name="files" type="number" min="1" max="1000000" required label=${words.mostFiles} fault="" defaultValue=${share?.maxFiles ?? 1000} />
  </div>
  <label class="choice"><input type="checkbox" name="askSender" defaultChecked=${share?.askSender ?? false} /> ${words.askSender}</label>`
}

interface PicturesProps extends Pick<ShareFormProps, 'page'> {
  readonly path: string | null
  readonly cleans: boolean
  readonly onChange: (event: Event) => void
}

/** The data that pictures have, and those that guests get. */
function Pictures({ path, cleans, page, onChange }: PicturesProps): VNode {
  return html`<label class="choice"><input type="checkbox" name="cleansPictures" checked=${cleans} onChange=${onChange} /> ${words.pictures.clean}</label>
  <details class="pictures">
    <summary>${words.pictures.about}</summary>
    <dl>
      <${PictureData} path=${path} cleans=${cleans} page=${page} />
    </dl>
    ${cleans && html`<p class="hint">${words.pictures.others}</p>`}
  </details>`
}

/** The days that a person can choose, the fewest first. */
function offeredTerms({ defaultDays, maxDays }: ShareFormProps['days']): readonly number[] {
  const all = new Set([...terms.filter((term) => term <= maxDays), defaultDays, maxDays])
  return [...all].sort((one, other) => one - other)
}

/** Returns what the form says, as the body of a request. The terms that the person did not choose are left out. */
function termsOf(
  data: FormData,
  { type, hasPictures }: ShareFormProps['subject'],
  share: Share | null,
  maxDays: number,
): object {
  const kind = data.get('kind') ?? 'read'
  const days = Number(data.get('days'))
  const password = String(data.get('password') ?? '')
  // The clock of the device may differ from that of the node, which knows the latest end.
  const endsAt = Date.now() + Math.min(days * dayMs, maxDays * dayMs - 3_600_000)
  return {
    ...((share === null || type === 'directory') && { kind }),
    ...(days > 0 && { expires: new Date(endsAt).toISOString() }),
    ...(password !== '' && { password }),
    ...(share?.password && !data.has('hasPassword') && { password: null }),
    ...(kind !== 'read' && {
      maxBytes: Math.round(Number(data.get('gigabytes')) * gigabyte),
      maxFiles: Number(data.get('files')),
      askSender: data.has('askSender'),
    }),
    ...(kind !== 'drop' && hasPictures && { keepMetadata: !data.has('cleansPictures') }),
  }
}
