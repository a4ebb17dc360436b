import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { Field } from '../field.ts'
import { html } from '../html.ts'
import * as texts from '../texts.ts'
import { post } from './post.ts'
import type { SignInMethod } from './sign-in-method.ts'

const text = texts.account.code

/** Signs in with a code that the person made where they are signed in. A QR code with it opens this page; the person still presses the button. */
export const OneTimeCode: SignInMethod = ({ code, working, fault, run }) => {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const typed = String(new FormData(event.target as HTMLFormElement).get('code') ?? '')
    void run(() => signInWithCode(typed.trim()))
  }
  return html`<form onSubmit=${submit}>
    <${Field}
      name="code"
      label=${text.field}
      hint=${text.whereToMake}
      fault=${fault}
      defaultValue=${code}
      required
      autocomplete="one-time-code"
      autocapitalize="characters"
      spellcheck=${false}
      maxlength="100"
    />
    <p class="choices"><button type="submit" class="main" disabled=${working}>${text.signIn}</button></p>
  </form>`
}

/** @throws Refusal if the code is wrong, used or too old */
async function signInWithCode(code: string): Promise<void> {
  type Account = NodeAnswers['POST /auth/code/account']
  const { uuid, address } = await post<Account>('/auth/code/account', { code })
  await post('/auth/code', { uuid, address, token: code })
}
