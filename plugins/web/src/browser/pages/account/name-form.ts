import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { type Signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { namePattern } from '../../name-pattern.ts'
import { reasonOf, request } from '../../request.ts'
import { texts } from '../../texts.ts'

const text = texts.account

/** Changes the name of the person. */
export function NameForm({ page, username }: { page: PageContext; username: Signal<string> }): VNode {
  const fault = useSignal('')
  const rename = async (event: SubmitEvent) => {
    event.preventDefault()
    const typed = new FormData(event.target as HTMLFormElement).get('username')
    fault.value = ''
    try {
      const { user } = await request(page, 'PATCH /api/account', { body: { username: typed } })
      username.value = user.username
      page.notice(text.renamed(user.username))
      await page.refresh()
    } catch (error) {
      fault.value = reasonOf(error)
    }
  }
  return html`<section>
    <form onSubmit=${rename}>
      <label>
        ${text.newName}
        <input name="username" defaultValue=${username.peek()} required pattern=${namePattern} title=${text.nameHint} autocomplete="off" autocapitalize="none" spellcheck=${false} aria-describedby="name-hint" />
      </label>
      <p class="hint" id="name-hint">${text.nameHint}</p>
      <p class="fault" role="alert">${fault}</p>
      <p class="choices"><button type="submit" class="main">${text.rename}</button></p>
    </form>
  </section>`
}
