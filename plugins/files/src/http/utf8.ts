const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text that bytes are in UTF-8; null when they are none. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
