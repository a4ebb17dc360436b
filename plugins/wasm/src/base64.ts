/** Decodes padded base64 of the common alphabet (RFC 4648, section 4). Returns undefined for anything else. */
export function decodeBase64(text: string): Buffer | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  // Node skips other characters, and also accepts the alphabet for URLs.
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== (text.length / 4) * 3 - padding) return undefined
  // The last character's bits beyond the last byte must be zero.
  const last = bytes.subarray(bytes.length - (bytes.length % 3 || 3))
  return text.endsWith(last.toString('base64')) ? bytes : undefined
}
