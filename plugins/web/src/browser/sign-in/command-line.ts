import { html } from '../html.ts'
import * as texts from '../texts.ts'
import type { SignInMethod } from './sign-in-method.ts'

/** Explains the command that makes a session on the machine of the node. */
export const CommandLine: SignInMethod = () => html`<p>${texts.signIn.command}</p>
  <pre tabindex="0">nodekeep session create</pre>`
