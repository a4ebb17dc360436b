/*
 * Texts that are typed and not sent yet, and the files that go with them. They are kept for the tab, so that they survive a reload and other pages.
 */

/** Returns the text that is kept under a key; empty if there is none. */
export function keptDraft(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a text under a key. An empty text removes it. */
export function keepDraft(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {
    // Some browsers refuse storage. The text is still in its field.
  }
}

/** Returns the paths of the files that are kept under a key. */
export function keptFiles(key: string): string[] {
  try {
    const paths: unknown = JSON.parse(keptDraft(filesKey(key)))
    return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []
  } catch {
    return []
  }
}

/** Keeps the paths of files under a key. */
export function keepFiles(key: string, paths: readonly string[]): void {
  keepDraft(filesKey(key), paths.length === 0 ? '' : JSON.stringify(paths))
}

function filesKey(key: string): string {
  return `${key} files`
}
