import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted, Refusal } from '../../refusal.ts'
import * as texts from '../../texts.ts'

/** The content of a file, in the form in which it is shown. `none` cannot be shown. */
export type ViewedContent =
  | { readonly kind: 'picture' | 'sound' | 'video' }
  | NoView
  | ViewedText
  | { readonly kind: 'document'; readonly document: Blob }

/** A file that is no text, and that has no other name by which it could be shown. */
interface NoView {
  readonly kind: 'none'
  /** Whether it begins as pictures do. */
  readonly isPicture: boolean
}

/** A text, or its beginning. */
export interface ViewedText {
  readonly kind: 'text'
  readonly text: string
  readonly isCut: boolean
  /** The version, as the header `if-match` takes it; `null` if it cannot be changed here: it is cut, or not in UTF-8. */
  readonly etag: string | null
}

/** The most bytes of a text that are shown, and that can be changed here. */
export const mostText = 1_000_000

/** The most bytes of a document that is shown: all of them are loaded before the first page. */
const mostDocument = 100_000_000

/**
 * Loads what is needed to show the file at an address. The node tells the type, from the name of the file.
 *
 * @throws Refusal
 */
export async function viewedContent(
  page: PageContext,
  address: string,
  signal: AbortSignal,
): Promise<ViewedContent> {
  const answer = await page.fetch(address, { method: 'HEAD', signal })
  // An answer to HEAD has no message.
  if (answer.status === 404) throw new Refusal(404, texts.files.gone)
  const { headers } = await accepted(answer)
  const type = headers.get('content-type') ?? ''
  const size = Number(headers.get('content-length') ?? 0)
  if (type.startsWith('image/')) return { kind: 'picture' }
  if (type.startsWith('audio/')) return { kind: 'sound' }
  if (type.startsWith('video/')) return { kind: 'video' }
  if (type !== 'application/pdf') {
    const content = await textContent(page, address, signal)
    return content.kind === 'none' && content.isPicture ? { kind: 'picture' } : content
  }
  if (!navigator.pdfViewerEnabled || size > mostDocument) return { kind: 'none', isPicture: false }
  const bytes = await (await accepted(await page.fetch(address, { signal }))).arrayBuffer()
  // A blob has the origin of this page, so its type is never one that the file chooses: HTML would run here.
  return { kind: 'document', document: new Blob([bytes], { type: 'application/pdf' }) }
}

/** Loads the beginning of a file as text; `none` if it is no text. */
export async function textContent(
  page: PageContext,
  address: string,
  signal: AbortSignal,
): Promise<ViewedText | NoView> {
  const headers = { range: `bytes=0-${mostText - 1}` }
  const answer = await page.fetch(address, { headers, signal })
  // An empty file has no first byte.
  if (answer.status === 416) {
    const { headers } = await accepted(await page.fetch(address, { method: 'HEAD', signal }))
    return { kind: 'text', text: '', isCut: false, etag: headers.get('etag') }
  }
  await accepted(answer)
  const bytes = await answer.arrayBuffer()
  const isCut =
    Number(answer.headers.get('content-range')?.split('/')[1] ?? bytes.byteLength) > bytes.byteLength
  const isText = answer.headers.get('content-type')?.startsWith('text/') === true
  // The cut may be within a character. The mark at the beginning of some texts stays, so that it is stored again.
  const decoded = (fatal: boolean) =>
    new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes, { stream: isCut })
  const etag = isCut ? null : answer.headers.get('etag')
  const none: NoView = {
    kind: 'none',
    isPicture: beginsAsPicture(new Uint8Array(bytes, 0, Math.min(12, bytes.byteLength))),
  }
  try {
    const text = decoded(true)
    return text.includes('\0') ? none : { kind: 'text', text, isCut, etag }
  } catch {
    return isText ? { kind: 'text', text: decoded(false), isCut, etag: null } : none
  }
}

/** Whether the first bytes are those of a JPEG, PNG, GIF, WebP or AVIF picture (WHATWG MIME Sniffing, "Matching an image type pattern"). */
function beginsAsPicture(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes)
  return /^(\xff\xd8\xff|\x89PNG\r\n|GIF8|RIFF....WEBP|....ftypavi[fs])/s.test(text)
}
