import { type Html, html } from './html.ts'
import { bytesText } from './texts.ts'

/** The bounds of the uploads of a guest. */
interface DropTerms {
  readonly token: string
  readonly askSender: boolean
  /** Whether guests see each other's files. */
  readonly isShown: boolean
  readonly filesLeft: number
  readonly bytesLeft: number
  /** Bytes of the largest file. */
  readonly maxFileSize: number
}

/** The form for uploads. It works without its script; with it, uploads go on after they broke off. */
export function dropForm({ token, askSender, isShown, filesLeft, bytesLeft, maxFileSize }: DropTerms): Html {
  if (filesLeft === 0 || bytesLeft === 0)
    return html`<p class="note">This link takes no more files: all that it takes are there.</p>`
  const largest = Math.min(bytesLeft, maxFileSize)
  return html`<form class="drop card" method="post" enctype="multipart/form-data" action="/s/${token}/drop" data-token="${token}">
  ${askSender ? html`<label>Your name<input name="sender" required maxlength="80" autocomplete="name"></label>` : null}
  <label>Files<input type="file" name="file" multiple required></label>
  <p class="hint">${filesLeft.toLocaleString('en')} more ${filesLeft === 1 ? 'file' : 'files'} and ${bytesText(bytesLeft)} in all, each of at most ${bytesText(largest)}. ${
    isShown
      ? 'Everybody with this link sees the files.'
      : 'Nobody but the person who made this link sees them.'
  }</p>
  <div class="buttons"><button class="main">Upload</button></div>
  <ul class="items uploads" aria-live="polite"></ul>
</form>`
}
