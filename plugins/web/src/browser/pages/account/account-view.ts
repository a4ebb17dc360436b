import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { request } from '../../request.ts'
import { KeyCare } from '../../sign-in/browser-key/key-care.ts'
import { storedKey } from '../../sign-in/browser-key/stored-key.ts'
import * as texts from '../../texts.ts'
import { attempt } from './attempt.ts'
import { Person } from './person.ts'
import { Sessions } from './sessions.ts'
import { SignInCode } from './sign-in-code.ts'
import { Tokens } from './tokens.ts'

const text = texts.account

/** Shows the person, their ways to sign in, and everything that is signed in as them: what most people come for is first. */
export function AccountView({ page }: { page: PageContext }): VNode {
  const sealed = useSignal(storedKey())
  const hasCodes = useSignal(false)
  useLayoutEffect(() => {
    void attempt(page, async () => {
      const { providers } = await request(page, 'GET /api/web/sign-in')
      hasCodes.value = providers.includes('code')
    })
  }, [page])
  const changed = () => {
    sealed.value = storedKey()
    if (sealed.value === null) page.notice(text.key.forgotten)
  }
  const kept = sealed.value
  const isOwn = kept?.address === page.user.wallet
  return html`<div class="account">
    <h1>${text.title}</h1>
    <${Person} page=${page} />
    ${hasCodes.value && html`<${SignInCode} page=${page} />`}
    <${Sessions} page=${page} />
    ${
      kept &&
      html`<section class="card">
          <h2>${text.key.keptTitle}</h2>
          <p class="hint">${isOwn ? text.key.keptText : text.key.otherKept(kept.address)}</p>
          <${KeyCare} sealed=${kept} onChanged=${changed} />
        </section>`
    }
    <${Tokens} page=${page} />
  </div>`
}
