import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { type Signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { NameField, typedName } from '../../name-field.ts'
import { reasonOf, request } from '../../request.ts'
import { texts } from '../../texts.ts'

const text = texts.account

/** Changes the name of the person. */
export function NameForm({ page, username }: { page: PageContext; username: Signal<string> }): VNode {
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
  return html`<section>
    <form onSubmit=${rename}>
      <${NameField} value=${username.peek()} fault=${fault.value} hint=${text.nameHint} />
      <p class="choices"><button type="submit" class="main">${text.rename}</button></p>
    </form>
  </section>`
}
