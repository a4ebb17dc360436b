import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { AddressText } from '../../address-text.ts'
import { html } from '../../html.ts'
import { request } from '../../request.ts'
import { KeyCare } from '../../sign-in/browser-key/key-care.ts'
import { storedKey } from '../../sign-in/browser-key/stored-key.ts'
import { texts } from '../../texts.ts'
import { attempt } from './attempt.ts'
import { NameForm } from './name-form.ts'
import { Sessions } from './sessions.ts'
import { SignInCode } from './sign-in-code.ts'
import { Tokens } from './tokens.ts'

const text = texts.account

/** Shows the person, their ways to sign in, and everything that is signed in as them. */
export function AccountView({ page }: { page: PageContext }): VNode {
  const { wallet, owner } = page.user
  const username = useSignal(page.user.username)
  const sealed = useSignal(storedKey())
  const hasCodes = useSignal(false)
  useEffect(() => {
    void attempt(page, async () => {
      const { providers } = await request(page, 'GET /api/web/sign-in')
      hasCodes.value = providers.includes('code')
    })
  }, [page])
  const forgotten = () => {
    sealed.value = null
    page.notice(text.key.forgotten)
  }
  return html`<div class="account">
    <h1>${text.title}</h1>
    <dl>
      <dt>${text.name}</dt>
      <dd>${username.value}${owner && ` (${text.owner})`}</dd>
      <dt>${text.wallet}</dt>
      <dd><${AddressText} value=${wallet} /></dd>
    </dl>
    <${NameForm} page=${page} username=${username} />
    ${
      sealed.value &&
      html`<section>
          <h2>${text.key.keptTitle}</h2>
          <p class="address">${sealed.value.address}</p>
          <${KeyCare} sealed=${sealed.value} onForgotten=${forgotten} />
        </section>`
    }
    ${hasCodes.value && html`<${SignInCode} page=${page} />`}
    <${Sessions} page=${page} />
    <${Tokens} page=${page} />
  </div>`
}
