import { html } from './html.ts'
import { documentOf } from './page.ts'

/** The page that asks for the password of a link. */
export function passwordPage(token: string, fault: string | null): string {
  return documentOf({
    title: 'Password',
    content: html`<h1>This link has a password</h1>
<form class="enter" method="post" action="/s/${token}/password">
  <label>Password<input type="password" name="password" required maxlength="200" autocomplete="current-password"></label>
  ${fault === null ? null : html`<p class="fault" role="alert">${fault}</p>`}
  <div class="buttons"><button class="main">Open</button></div>
</form>`,
  })
}
