import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import { SecretText } from '../../secret-text.ts'
import * as texts from '../../texts.ts'
import { shortDateText } from '../../times.ts'
import { attempt } from './attempt.ts'
import { type Group, groupsOf } from './groups.ts'

type TokenList = NodeAnswers['GET /api/account/tokens']
type Token = TokenList['tokens'][number]

const text = texts.account.tokens

/** Days until a token expires; 0 stands for never. */
const terms = [30, 90, 365, 0]

/** The API tokens of the person by their programs: makes, shows once and revokes them. */
export function Tokens({ page }: { page: PageContext }): VNode {
  const known = useSignal<TokenList | null>(null)
  const made = useSignal<string | null>(null)
  const fault = useSignal('')
  const heading = useRef<HTMLHeadingElement>(null)
  const load = async () => {
    known.value = await request(page, 'GET /api/account/tokens')
  }
  useLayoutEffect(() => {
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
  const revoke = async (name: string, tokens: readonly Token[]) => {
    const title = tokens.length === 1 ? text.revokeTitle(name) : text.revokeOlderTitle(tokens.length, name)
    if ((await ask({ title, text: text.revokeText, agree: text.revoke })) === null) return
    await attempt(page, async () => {
      for (const { id } of tokens) await request(page, 'DELETE /api/account/tokens/{id}', { names: { id } })
      await load()
      page.notice(text.revoked)
      heading.current?.focus()
    })
  }
  const revokeButton = (token: Token) =>
    html`<button type="button" aria-label=${`${text.revoke}: ${token.name}`} onClick=${() => revoke(token.name, [token])}>${text.revoke}</button>`
  const row = ({ name, newest, older }: Group<Token>) => html`<li key=${newest.id}>
    ${icon(newest.scopes.includes('files:write') ? 'laptop' : 'puzzle')}
    <div class="grow">
      <strong>${name}</strong>
      <div class="note">${newest.scopes.map(scopeText).join(', ')}</div>
      <div class="note">${timesOf(newest)}</div>
      ${
        older.length > 0 &&
        html`<details>
            <summary>${text.older(older.length)}</summary>
            <ul class="items">
              ${older.map((token) => html`<li key=${token.id}><span class="grow note">${timesOf(token)}</span>${revokeButton(token)}</li>`)}
            </ul>
            ${older.length > 1 && html`<button type="button" onClick=${() => revoke(name, older)}>${text.revokeOlder(older.length)}</button>`}
          </details>`
      }
    </div>
    ${revokeButton(newest)}
  </li>`
  if (known.value === null) {
    return html`<section class="card"><h2>${text.title}</h2><span class="skeleton"></span></section>`
  }
  const { tokens, knownScopes, idleDays } = known.value
  // Programs of one name that may do different things are not alike.
  const groups = groupsOf(
    tokens,
    ({ name, scopes }) => JSON.stringify([name, scopes]),
    ({ created, lastUsed }) => lastUsed ?? created,
  ).map((group) => ({ ...group, name: group.newest.name }))
  return html`<section class="card">
    <h2 tabindex="-1" ref=${heading}>${text.title}</h2>
    <p class="hint">${text.explanation} ${text.idle(idleDays)}</p>
    ${tokens.length === 0 ? html`<p>${text.none}</p>` : html`<ul class="items">${groups.map(row)}</ul>`}
    ${made.value !== null && html`<${SecretText} key=${made.value} label=${text.yourToken} value=${made.value} />`}
    ${knownScopes.includes('webdav') && html`<p><a href="#/connect-app">${text.connectApp}</a></p>`}
    <details>
      <summary>${text.add}</summary>
      <form onSubmit=${make}>
        <label>${text.name}<input name="name" required maxlength="100" autocomplete="off" /></label>
        <fieldset>
          <legend>${text.scopes}</legend>
          ${knownScopes.map(
            (scope) => html`<label key=${scope} class="choice">
              <input type="checkbox" name="scope" value=${scope} />
              <span>${scopeText(scope)} <span class="note">${scope}</span></span>
            </label>`,
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
    </details>
  </section>`
}

/** Says what a scope allows. The scope of another plugin has its name. */
function scopeText(scope: string): string {
  return Object.hasOwn(text.scopeTexts, scope) ? (text.scopeTexts[scope] ?? scope) : scope
}

function timesOf({ created, lastUsed, expires }: Token): string {
  return text.times(
    shortDateText(created),
    lastUsed && shortDateText(lastUsed),
    expires && shortDateText(expires),
  )
}
