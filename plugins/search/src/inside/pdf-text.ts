import { Refusal } from '@nodekeep/plugin-sdk/sandbox-content'

type Unpdf = typeof import('unpdf')

/**
 * The text of a PDF, page by page.
 *
 * @param library the URL of `unpdf`
 * @param mostCharacters after which the rest is left out
 * @throws Refusal if it is none, or is encrypted
 */
export async function pdfText(content: Uint8Array, library: string, mostCharacters: number): Promise<string> {
  const { getDocumentProxy } = (await import(library)) as Unpdf
  const pdf = await getDocumentProxy(new Uint8Array(content), { verbosity: 0 }).catch((error: Error) => {
    const isLocked = error.name === 'PasswordException'
    throw new Refusal(isLocked ? 'The PDF needs a password.' : 'The PDF is damaged.')
  })
  try {
    const pieces: string[] = []
    let characters = 0
    for (let number = 1; number <= pdf.numPages && characters < mostCharacters; number += 1) {
      const page = await pdf.getPage(number)
      const { items } = await page.getTextContent()
      for (const item of items) {
        if (!('str' in item)) continue
        const text = item.hasEOL ? `${item.str}\n` : item.str
        pieces.push(text)
        characters += text.length
      }
      pieces.push('\n')
      page.cleanup()
    }
    return pieces.join('')
  } finally {
    await pdf.loadingTask.destroy()
  }
}
