import { isUtf8 } from 'node:buffer'
import type { GoingFile } from './shared-files.ts'

/** Bytes of the largest text that a page shows. */
export const mostShownText = 1_000_000

const textNames =
  /(\.(txt|log|md|markdown|csv|tsv|json|yaml|yml|toml|ini|conf|xml|srt|vtt|tex|css|js|ts|py|sh|sql|c|h|cpp|java|go|rs)|^readme)$/i

/** Whether a file of this name is most likely a text. */
export function isNamedAsText(name: string): boolean {
  return textNames.test(name)
}

/** Reads a text; null if the content is no text in UTF-8. */
export async function textOf(file: GoingFile): Promise<string | null> {
  if (file.size > mostShownText) return null
  const chunks: Uint8Array[] = []
  for await (const chunk of file.read(null)) chunks.push(Buffer.from(chunk))
  const bytes = Buffer.concat(chunks)
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString() : null
}
