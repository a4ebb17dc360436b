import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { html } from '../html.ts'
import { texts } from '../texts.ts'
import { post } from './post.ts'
import type { SignInMethod } from './sign-in-method.ts'

const text = texts.account.code

/** Signs in with a code that the person made where they are signed in. */
export const OneTimeCode: SignInMethod = ({ isNew, working, run }) => {
  // Nobody can have made a code yet.
  if (isNew) return null
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const code = String(new FormData(event.target as HTMLFormElement).get('code') ?? '')
    void run(() => signInWithCode(code.trim()))
  }
  return html`<details>
    <summary>${text.haveCode}</summary>
    <p>${text.whereToMake}</p>
    <form onSubmit=${submit}>
      <label>
        ${text.field}
        <input name="code" required autocomplete="one-time-code" autocapitalize="characters" spellcheck=${false} maxlength="100" />
      </label>
      <p class="choices"><button type="submit" class="main" disabled=${working}>${text.signIn}</button></p>
    </form>
  </details>`
}

/** @throws Refusal if the code is wrong, used or too old */
async function signInWithCode(code: string): Promise<void> {
  type Account = NodeAnswers['POST /auth/code/account']
  const { uuid, address } = await post<Account>('/auth/code/account', { code })
  await post('/auth/code', { uuid, address, token: code })
}
