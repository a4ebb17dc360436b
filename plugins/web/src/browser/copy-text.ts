/**
 * Copies a text, from the press of a button. Pages over plain HTTP have no clipboard, and a browser may refuse it to the page. Then
 * the text is selected, and the older command of browsers copies the selection.
 *
 * @param element the element that shows the text
 * @returns whether it was copied. Otherwise it is selected
 */
export async function copyText(text: string, element: HTMLElement | null): Promise<boolean> {
  const { clipboard } = navigator as { clipboard?: Clipboard }
  try {
    if (clipboard !== undefined) {
      await clipboard.writeText(text)
      return true
    }
  } catch {
    // The selection remains.
  }
  if (element instanceof HTMLTextAreaElement) element.select()
  else if (element !== null) getSelection()?.selectAllChildren(element)
  return document.execCommand('copy')
}
