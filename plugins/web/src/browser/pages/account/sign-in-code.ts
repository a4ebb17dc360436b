import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { QrCode } from '../../qr-code.ts'
import { ifRunning } from '../../refusal.ts'
import { request } from '../../request.ts'
import { SecretText } from '../../secret-text.ts'
import * as texts from '../../texts.ts'
import { isThisComputer } from '../../this-computer.ts'
import { attempt } from './attempt.ts'

interface Code {
  readonly code: string
  /** By the clock of the device, since that of the node may be another one. */
  readonly expires: Date
}

const text = texts.account.code
const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/**
 * Makes a code for a sign-in at another device, and shows it until it expires. A QR code has the address of the node and the code,
 * behind `#`, so that no server on the way gets it.
 */
export function SignInCode({ page }: { page: PageContext }): VNode {
  const made = useSignal<Code | null>(null)
  /** The address by which another device reaches the node; `null` while none is known. */
  const origin = useSignal(isThisComputer() ? null : location.origin)
  useLayoutEffect(() => {
    if (!isThisComputer()) return
    void attempt(page, async () => {
      const { signal } = page
      const reach = await ifRunning(request(page, 'GET /api/overlay/status', { signal }))
      origin.value = reach?.addresses[0] ?? null
    })
  }, [page])
  useLayoutEffect(() => {
    if (made.value === null) return
    const timer = setTimeout(() => {
      made.value = null
    }, made.value.expires.getTime() - Date.now())
    return () => clearTimeout(timer)
  }, [made.value])
  const make = () =>
    attempt(page, async () => {
      const { code, expiresIn } = await request(page, 'POST /api/account/sign-in-codes')
      made.value = { code, expires: new Date(Date.now() + expiresIn * 1000) }
    })
  const now = made.value
  const { value: reached } = origin
  return html`<section class="card">
    <h2>${text.title}</h2>
    <p class="hint">${text.explanation}</p>
    <p class="choices"><button type="button" class=${now === null ? 'main' : ''} onClick=${make}>${text.make}</button></p>
    ${
      now &&
      html`<div class="made">
          ${reached !== null && html`<${QrCode} text=${`${reached}/#code=${now.code}`} label=${text.qr} />`}
          <div class="grow">
            <${SecretText} key=${now.code} label=${text.yourCode} value=${now.code} />
            <p>${reached === null ? text.thisMachine : text.scan(reached)}</p>
            ${reached === null && page.user.owner && html`<p><a class="alone" href="#/node/overlay">${text.howToOpen}</a></p>`}
            <p class="hint">${text.expires(times.format(now.expires))}</p>
          </div>
        </div>`
    }
  </section>`
}
