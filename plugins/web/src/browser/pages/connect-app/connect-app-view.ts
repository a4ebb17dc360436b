import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { AddressText } from '../../address-text.ts'
import { CodeBlock } from '../../code-block.ts'
import { html } from '../../html.ts'
import { QrCode } from '../../qr-code.ts'
import { reasonOf, request } from '../../request.ts'
import { SecretText } from '../../secret-text.ts'
import { ReachNote } from '../../sharing/reach-note.ts'
import * as texts from '../../texts.ts'
import { isThisComputer } from '../../this-computer.ts'

const words = texts.connectApp

/**
 * Tells an app where the files are, and makes a password for it: an API token that may do nothing else. The QR code opens this page on a
 * phone. It does not have the password, since the cameras of phones offer to search the web for what they read.
 */
export function ConnectAppView({ page }: { page: PageContext }): VNode {
  const password = useSignal<string | null>(null)
  const fault = useSignal('')
  const { username } = page.user
  const address = `${location.origin}/dav/`
  const make = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const body = { name: new FormData(form).get('name'), scopes: ['webdav'], expiryDays: null }
    try {
      password.value = (await request(page, 'POST /api/account/tokens', { body })).token
      fault.value = ''
      form.reset()
    } catch (error) {
      fault.value = reasonOf(error)
    }
  }
  return html`<div class="connect-app">
    <h1>${words.title}</h1>
    <p class="hint">${words.explanation}</p>
    <section class="card">
      <h2>${words.access}</h2>
      <${ReachNote} reach=${isThisComputer() ? 'machine' : 'everywhere'} text=${words.thisMachine} page=${page} />
      <dl>
        <dt>${words.address}</dt>
        <dd><${AddressText} value=${address} label=${words.copyAddress} /></dd>
        <dt>${words.username}</dt>
        <dd>${username}</dd>
        <dt>${words.password}</dt>
        <dd>
          <p class="hint">${words.passwordText} <a href="#/account">${texts.account.title}</a>.</p>
          ${password.value !== null && html`<${SecretText} key=${password.value} label=${words.yourPassword} value=${password.value} />`}
          <form onSubmit=${make}>
            <label>${words.app}<input name="name" required maxlength="100" autocomplete="off" placeholder=${words.appExample} /></label>
            <p class="fault" role="alert">${fault}</p>
            <p class="choices"><button type="submit" class=${password.value === null ? 'main' : ''}>${words.make}</button></p>
          </form>
        </dd>
      </dl>
      ${!isThisComputer() && location.protocol === 'http:' && html`<p class="hint">${words.unencrypted}</p>`}
    </section>
    <section class="card">
      <h2>${words.steps}</h2>
      ${words.systems(address, username).map(
        ({ name, steps }) => html`<details key=${name}>
          <summary>${name}</summary>
          <ol class="steps">
            ${steps.map(
              ({ text, code }) =>
                html`<li key=${text}>${text}${code !== undefined && html`<${CodeBlock} text=${code} />`}</li>`,
            )}
          </ol>
        </details>`,
      )}
    </section>
    ${
      !isThisComputer() &&
      html`<section class="card">
          <h2>${words.phone}</h2>
          <div class="made">
            <${QrCode} text=${`${location.origin}/#/connect-app`} label=${words.qr} />
            <p class="grow">${words.phoneText}</p>
          </div>
        </section>`
    }
  </div>`
}
