import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import { addressOf } from './folder-page.ts'
import { type Html, html } from './html.ts'
import { documentOf } from './page.ts'
import { dayText, shownName, untilText } from './texts.ts'

/** A file in a link, as a guest sees it. */
interface FileView {
  readonly token: string
  readonly name: string
  /** The path below the shared folder; empty if the file itself is shared. */
  readonly below: string
  /** Bytes. */
  readonly size: number
  readonly modified: Date
  /** When the link ends. */
  readonly expires: Date
  /** The content of a text; null if it is not shown. */
  readonly text: string | null
  /** Whether it is a picture of which the node may have a preview. */
  readonly hasPreview: boolean
  /** The names of the files before and after it in its folder; null without. */
  readonly former: string | null
  readonly next: string | null
}

/** The page of a file: itself where browsers show it, and links to it. */
export function viewPage(view: FileView): string {
  const { token, name, below, size, modified, expires, former, next } = view
  const folder = below.slice(0, below.lastIndexOf('/'))
  const beside = (other: string | null, text: string) =>
    other === null
      ? null
      : html`<a class="button quiet" href="${addressOf(token, '/view', { path: `${folder}/${other}` })}">${text}</a>`
  const content = html`<header class="page-head">
  <h1><bdi>${shownName(name)}</bdi></h1>
  <div class="toolbar">
    ${below === '' ? null : html`<a class="button quiet" href="${addressOf(token, '', { path: folder })}">Back to the folder</a>`}
    ${beside(former, 'Previous')}
    ${beside(next, 'Next')}
    <a class="button main" href="${addressOf(token, '/file', { path: below, download: '1' })}">Download</a>
  </div>
</header>
${shown(view)}
<p class="note">${bytesText(size)}, ${dayText(modified)}. ${untilText(expires)}</p>`
  return documentOf({ title: shownName(name), content })
}

function shown({ token, name, below, hasPreview, text }: FileView): Html | null {
  const file = addressOf(token, '/file', { path: below })
  if (hasPreview || /\.(avif|gif|hei[cf]|jfif|jpe|jpe?g|png|webp)$/i.test(name)) {
    const preview = addressOf(token, '/preview', { path: below, size: 'large' })
    return html`<p class="shown"><img src="${hasPreview ? preview : file}" alt="${shownName(name)}"></p>`
  }
  if (/\.(mp4|m4v|webm|mov|ogv)$/i.test(name))
    return html`<p class="shown"><video src="${file}" controls preload="metadata" playsinline></video></p>`
  if (/\.(mp3|m4a|ogg|oga|opus|flac|wav|aac)$/i.test(name))
    return html`<p class="shown"><audio src="${file}" controls preload="metadata"></audio></p>`
  if (text !== null)
    return html`<pre class="shown card" dir="auto" tabindex="0" aria-label="${shownName(name)}" role="region">${text}</pre>`
  if (/\.(txt|log)$/i.test(name)) return html`<p><a class="button" href="${file}">Open</a></p>`
  return null
}
