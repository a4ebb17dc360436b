import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { request } from '../../request.ts'
import { SecretText } from '../../secret-text.ts'
import { texts } from '../../texts.ts'
import { attempt } from './attempt.ts'

interface Code {
  readonly code: string
  /** ISO 8601 */
  readonly expires: string
}

const text = texts.account.code
const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** Makes a code for a sign-in at another device, and shows it until it expires. */
export function SignInCode({ page }: { page: PageContext }): VNode {
  const made = useSignal<Code | null>(null)
  useEffect(() => {
    if (made.value === null) return
    const timer = setTimeout(() => {
      made.value = null
    }, Date.parse(made.value.expires) - Date.now())
    return () => clearTimeout(timer)
  }, [made.value])
  const make = () =>
    attempt(page, async () => {
      made.value = await request<Code>(page, 'POST', '/api/account/sign-in-codes')
    })
  return html`<section>
    <h2>${text.title}</h2>
    <p>${text.explanation}</p>
    <p class="choices"><button type="button" onClick=${make}>${text.make}</button></p>
    ${
      made.value &&
      html`<${SecretText} key=${made.value.code} label=${text.yourCode} value=${made.value.code} />
          <p>${text.expires(times.format(new Date(made.value.expires)))}</p>`
    }
  </section>`
}
