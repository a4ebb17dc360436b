import { type DropLimits, limitsText } from '../protocol/drop-limits.ts'
import { type Html, html } from './html.ts'

/** The bounds of the uploads of a guest. */
interface DropTerms extends DropLimits {
  readonly token: string
  readonly askSender: boolean
  /** Whether guests see each other's files. */
  readonly isShown: boolean
}

/** The form for uploads. It works without its script; with it, uploads go on after they broke off. */
export function dropForm({ token, askSender, isShown, filesLeft, bytesLeft, maxFileSize }: DropTerms): Html {
  if (filesLeft === 0 || bytesLeft === 0)
    return html`<p class="note">This link takes no more files: all that it takes are there.</p>`
  return html`<form class="drop card" method="post" enctype="multipart/form-data" action="/s/${token}/drop" data-token="${token}" data-files-left="${filesLeft}" data-bytes-left="${bytesLeft}" data-max-file-size="${maxFileSize}">
  ${askSender ? html`<label>Your name<input name="sender" required maxlength="80" autocomplete="name"></label>` : null}
  <label>Files<input type="file" name="file" multiple required></label>
  <p class="hint"><span class="limits">${limitsText({ filesLeft, bytesLeft, maxFileSize })}</span> ${
    isShown
      ? 'Everybody with this link sees the files.'
      : 'Nobody but the person who made this link sees them.'
  }</p>
  <div class="buttons"><button class="main">Upload</button></div>
  <ul class="items uploads" aria-live="polite"></ul>
  <p class="ended" role="status"></p>
</form>`
}
