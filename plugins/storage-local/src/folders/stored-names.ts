/** The folder in the root for unfinished work. Users never see it. */
export const stagingFolderName = '.nodekeep'

/** The folder in it where restores keep what they put in place and what was there before (`plainFolder` of the SDK). */
export const restoreFolderName = 'restore'

/** The lock in it, which keeps other nodes out (`lockFolder` of the SDK). */
export const lockName = 'lock'

/** Stands for bytes that are not valid UTF-8. No file can be opened by such a name. */
export const replacementCharacter = '\uFFFD'

const maxNameBytes = 255

/**
 * Returns the names under which a disk may hold a file with this name: the name itself (NFC), then the decomposed form
 * (NFD) in which programs of macOS store it. If both exist, the first one is the file.
 */
export function storedForms(name: string): readonly string[] {
  if (isAscii(name)) return [name]
  const decomposed = name.normalize('NFD')
  return decomposed === name || Buffer.byteLength(decomposed) > maxNameBytes ? [name] : [name, decomposed]
}

/**
 * Returns the name to show for a name on the disk, in NFC. Null if no request could find the file by that name: names
 * that mix composed and decomposed letters, and names that are too long in NFC.
 */
export function shownName(stored: string): string | null {
  if (isAscii(stored)) return stored
  const name = stored.normalize('NFC')
  if (name === stored) return name
  return Buffer.byteLength(name) <= maxNameBytes && storedForms(name).includes(stored) ? name : null
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 127) return false
  return true
}
