import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { AddressText } from '../../address-text.ts'
import { Avatar } from '../../avatar.ts'
import { html } from '../../html.ts'
import { NameField, typedName } from '../../name-field.ts'
import { reasonOf, request } from '../../request.ts'
import * as texts from '../../texts.ts'

const text = texts.account

/** Shows and changes the name of the person, and shows their address. */
export function Person({ page }: { page: PageContext }): VNode {
  const { wallet, owner } = page.user
  const username = useSignal(page.user.username)
  const fault = useSignal('')
  const rename = async (event: SubmitEvent) => {
    event.preventDefault()
    const typed = typedName(event.target)
    fault.value = typed.fault
    if (typed.username === null) return
    try {
      const { user } = await request(page, 'PATCH /api/account', { body: { username: typed.username } })
      username.value = user.username
      page.notice(text.renamed(user.username))
      await page.refresh()
    } catch (error) {
      fault.value = reasonOf(error)
    }
  }
  return html`<section class="card">
    <div class="person">
      <${Avatar} name=${username.value} />
      <h2>${username.value}</h2>
      ${owner && html`<span class="badge accent">${text.owner}</span>`}
    </div>
    <form onSubmit=${rename}>
      <${NameField} value=${username.peek()} fault=${fault.value} hint=${text.nameHint} />
      <p class="choices"><button type="submit">${text.rename}</button></p>
    </form>
    <p class="hint">${text.walletText}</p>
    <${AddressText} value=${wallet} />
  </section>`
}
