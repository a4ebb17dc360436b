/*
 * Texts that are typed and not sent yet. They are kept for the tab, so that they survive a reload and other pages.
 */

/** Returns the text that is kept for a conversation; empty if there is none. */
export function keptDraft(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a text for a conversation. An empty text removes it. */
export function keepDraft(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {
    // Some browsers refuse storage. The text is still in its field.
  }
}
