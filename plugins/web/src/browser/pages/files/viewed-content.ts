import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted } from '../../refusal.ts'

/** The content of a file, in the form in which it is shown. `none` cannot be shown. */
export type ViewedContent =
  | { readonly kind: 'picture' | 'sound' | 'video' | 'none' }
  | { readonly kind: 'text'; readonly text: string; readonly isCut: boolean }
  | { readonly kind: 'document'; readonly document: Blob }

/** The most bytes of a text that are shown. */
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
  const { headers } = await accepted(await page.fetch(address, { method: 'HEAD', signal }))
  const type = headers.get('content-type') ?? ''
  const size = Number(headers.get('content-length') ?? 0)
  if (type.startsWith('image/')) return { kind: 'picture' }
  if (type.startsWith('audio/')) return { kind: 'sound' }
  if (type.startsWith('video/')) return { kind: 'video' }
  if (type !== 'application/pdf') return textContent(page, address, signal)
  if (!navigator.pdfViewerEnabled || size > mostDocument) return { kind: 'none' }
  const bytes = await (await accepted(await page.fetch(address, { signal }))).arrayBuffer()
  // A blob has the origin of this page, so its type is never one that the file chooses: HTML would run here.
  return { kind: 'document', document: new Blob([bytes], { type: 'application/pdf' }) }
}

/** Loads the beginning of a file as text; `none` if it is no text. */
export async function textContent(
  page: PageContext,
  address: string,
  signal: AbortSignal,
): Promise<ViewedContent> {
  const headers = { range: `bytes=0-${mostText - 1}` }
  const answer = await page.fetch(address, { headers, signal })
  // An empty file has no first byte.
  if (answer.status === 416) return { kind: 'text', text: '', isCut: false }
  await accepted(answer)
  const bytes = await answer.arrayBuffer()
  const isCut =
    Number(answer.headers.get('content-range')?.split('/')[1] ?? bytes.byteLength) > bytes.byteLength
  const isText = answer.headers.get('content-type')?.startsWith('text/') === true
  try {
    // The cut may be within a character.
    const text = new TextDecoder('utf-8', { fatal: !isText }).decode(bytes, { stream: isCut })
    return text.includes('\0') ? { kind: 'none' } : { kind: 'text', text, isCut }
  } catch {
    return { kind: 'none' }
  }
}
