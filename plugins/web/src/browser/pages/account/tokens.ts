import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import { SecretText } from '../../secret-text.ts'
import { texts } from '../../texts.ts'
import { attempt } from './attempt.ts'

type TokenList = NodeAnswers['GET /api/account/tokens']
type Token = TokenList['tokens'][number]

const text = texts.account.tokens
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** Days until a token expires; 0 stands for never. */
const terms = [30, 90, 365, 0]

/** The API tokens of the person: makes, shows once and revokes them. */
export function Tokens({ page }: { page: PageContext }): VNode {
  const known = useSignal<TokenList | null>(null)
  const made = useSignal<string | null>(null)
  const fault = useSignal('')
  const heading = useRef<HTMLHeadingElement>(null)
  const load = async () => {
    known.value = await request(page, 'GET /api/account/tokens')
  }
  useEffect(() => {
    void attempt(page, load)
  }, [page])
  const make = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const data = new FormData(form)
    const [name, scopes, days] = [data.get('name'), data.getAll('scope'), Number(data.get('days'))]
    fault.value = scopes.length === 0 ? text.noScope : ''
    if (scopes.length === 0) return
    const body = { name, scopes, expiryDays: days === 0 ? null : days }
    await attempt(page, async () => {
      made.value = (await request(page, 'POST /api/account/tokens', { body })).token
      form.reset()
      await load()
    })
  }
  const revoke = async ({ id, name }: Token) => {
    const answer = await ask({ title: text.revokeTitle(name), text: text.revokeText, agree: text.revoke })
    if (answer === null) return
    await attempt(page, async () => {
      await request(page, 'DELETE /api/account/tokens/{id}', { names: { id } })
      await load()
      page.notice(text.revoked)
      heading.current?.focus()
    })
  }
  const row = (token: Token) => html`<li key=${token.id}>
    <span class="what">
      <strong>${token.name}</strong>
      <span class="hint">${token.scopes.join(', ')}</span>
      <span class="hint">
        ${text.times(dates.format(new Date(token.lastUsed)), token.expires && dates.format(new Date(token.expires)))}
      </span>
    </span>
    <button type="button" aria-label=${`${text.revoke}: ${token.name}`} onClick=${() => revoke(token)}>${text.revoke}</button>
  </li>`
  if (known.value === null) {
    return html`<section><h2>${text.title}</h2><p class="hint">${texts.shell.loading}</p></section>`
  }
  const { tokens, knownScopes } = known.value
  return html`<section>
    <h2 tabindex="-1" ref=${heading}>${text.title}</h2>
    <p>${text.explanation}</p>
    ${tokens.length === 0 ? html`<p class="hint">${text.none}</p>` : html`<ul>${tokens.map(row)}</ul>`}
    ${made.value !== null && html`<${SecretText} key=${made.value} label=${text.yourToken} value=${made.value} />`}
    <form onSubmit=${make}>
      <h3>${text.make}</h3>
      <label>${text.name}<input name="name" required maxlength="100" autocomplete="off" /></label>
      <fieldset>
        <legend>${text.scopes}</legend>
        ${knownScopes.map(
          (scope) =>
            html`<label key=${scope} class="choice"><input type="checkbox" name="scope" value=${scope} />${scope}</label>`,
        )}
      </fieldset>
      <label>
        ${text.expiry}
        <select name="days">
          ${terms.map((days) => html`<option key=${days} value=${days} selected=${days === 90}>${text.term(days)}</option>`)}
        </select>
      </label>
      <p class="fault" role="alert">${fault}</p>
      <p class="choices"><button type="submit" class="main">${text.make}</button></p>
    </form>
  </section>`
}
