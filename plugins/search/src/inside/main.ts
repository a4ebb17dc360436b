/** The program in the sandbox: extracts the text of a file, or a snippet of it. */
import { serveContents } from '@nodekeep/plugin-sdk/sandbox-content'
import { htmlText } from './html-text.ts'
import type { ExtractionAnswer, ExtractionOrder } from './order.ts'
import { mostCharacters } from './order.ts'
import { pdfText } from './pdf-text.ts'
import { plainText } from './plain-text.ts'
import { snippetOf } from './snippet.ts'

/**
 * Words that are longer are data, such as pictures within a text. They would only make the index larger. Each match has an end, since the
 * regular expression takes stack for each character.
 */
const longWords = /[\p{L}\p{N}\p{Co}]{65,9999}/gu

serveContents(async (given, content) => {
  const order = given as ExtractionOrder
  const text = (await textOf(order, content)).slice(0, mostCharacters).normalize('NFC')
  const snippet = order.wanted === null ? null : snippetOf(text, order.wanted)
  const answer: ExtractionAnswer = { snippet }
  return order.wanted === null ? { answer, parts: [Buffer.from(text.replace(longWords, ' '))] } : { answer }
})

async function textOf({ format, library }: ExtractionOrder, content: Uint8Array): Promise<string> {
  if (format === 'pdf') return pdfText(content, library, mostCharacters)
  if (format === 'html') return htmlText(content, library, mostCharacters)
  return plainText(content, mostCharacters)
}
