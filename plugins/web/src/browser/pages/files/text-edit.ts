import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { bytesText } from '../../bytes-text.ts'
import { keepDraft, keptDraft } from '../../drafts.ts'
import { accepted, Refusal } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { numberedName } from './names.ts'
import { contentAddress, folderOf, nameOf, pathIn } from './paths.ts'
import { mostText } from './viewed-content.ts'

/** A text that a person changes. */
export interface EditedText {
  readonly text: string
  /** The version of the file that they have changed, as the header `if-match` takes it. */
  readonly etag: string
}

interface SavedText extends EditedText {
  /** The file that has the text: another one, if somebody else has changed the file meanwhile. */
  readonly path: string
}

/** Keeps a text that is not saved yet in the tab, so that it survives a reload and other pages. `null`: it is saved. */
export function keepEdit(path: string, edited: EditedText | null): void {
  keepDraft(keyOf(path), edited === null ? '' : JSON.stringify(edited))
}

/** Returns the text of a file that is not saved yet; `null` if there is none. */
export function keptEdit(path: string): EditedText | null {
  const kept = keptDraft(keyOf(path))
  return kept === '' ? null : (JSON.parse(kept) as EditedText)
}

function keyOf(path: string): string {
  return `text of ${path}`
}

/**
 * Stores a text. If the file is another version by now, both are kept: the text gets a name of its own beside it, or that of the file, if it is gone.
 *
 * @throws Refusal; TypeError if the node does not answer
 */
export async function saveText(
  page: PageContext,
  path: string,
  { text, etag }: EditedText,
): Promise<SavedText> {
  const bytes = new Blob([text])
  if (bytes.size > mostText) throw new Refusal(413, texts.editor.tooLong(bytesText(mostText)))
  const saved = await write(page, path, bytes, { 'if-match': etag })
  if (saved !== null) return { text, path, etag: saved }
  // The answer to the same write may have been lost, and this is its repetition.
  const answer = await page.fetch(contentAddress(path))
  if (answer.ok && (await isText(answer, bytes.size, text)))
    return { text, path, etag: answer.headers.get('etag') ?? '' }
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? nameOf(path) : numberedName(nameOf(path), number)
    const free = pathIn(folderOf(path), name)
    const made = await write(page, free, bytes, { 'if-none-match': '*' })
    if (made !== null) return { text, path: free, etag: made }
  }
}

/** Whether an answer has a text of this size in bytes. A longer one is not loaded. */
async function isText(answer: Response, size: number, text: string): Promise<boolean> {
  if (Number(answer.headers.get('content-length')) === size)
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await answer.arrayBuffer()) === text
  await answer.body?.cancel()
  return false
}

/** Resolves to the version that was stored; to `null` if the condition does not hold. */
async function write(
  page: PageContext,
  path: string,
  body: Blob,
  condition: Readonly<Record<string, string>>,
): Promise<string | null> {
  const headers = { ...condition, 'content-type': 'text/plain' }
  const answer = await page.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', headers, body })
  return answer.status === 412 ? null : ((await accepted(answer)).headers.get('etag') ?? '')
}
