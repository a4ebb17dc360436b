/** Returns a name as the index stores it: in UTF-16BE, so that the order of bytes is JavaScript's order of strings. */
export function storedName(name: string): Uint8Array {
  return Buffer.from(name, 'utf16le').swap16()
}

/** Returns the name that the index stores as these bytes. */
export function nameFrom(stored: Uint8Array): string {
  return Buffer.from(stored).swap16().toString('utf16le')
}

/** Returns the names of a path of a storage backend, from the root on. The root has none. */
export function namesOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

/** The id of the root in the table of entries. */
export const rootId = 1
