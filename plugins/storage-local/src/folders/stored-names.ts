/** The name of the folder, in the root, where the backend keeps what is not finished. Nobody else sees it. */
export const sideFolder = '.nodekeep'

const maxBytes = 255

/**
 * The names under which a disk may hold a file with this name, the first of which counts: as it is (NFC), and in the
 * decomposed form (NFD) in which programs of macOS store it.
 */
export function storedForms(name: string): readonly string[] {
  if (isAscii(name)) return [name]
  const decomposed = name.normalize('NFD')
  return decomposed === name || Buffer.byteLength(decomposed) > maxBytes ? [name] : [name, decomposed]
}

/**
 * The name to show for one that is on the disk, in NFC; null when nobody could ask for it by that name. That is so for
 * names which mix composed and decomposed letters, or grow beyond what a name may have.
 */
export function shownName(stored: string): string | null {
  if (isAscii(stored)) return stored
  const name = stored.normalize('NFC')
  if (name === stored) return name
  return Buffer.byteLength(name) <= maxBytes && storedForms(name).includes(stored) ? name : null
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 127) return false
  return true
}
