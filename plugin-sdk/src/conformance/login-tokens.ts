const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** Texts that no provider takes for a proof, with forms that parsers stumble over. */
export const unreadableTokens: readonly string[] = [
  '',
  ' ',
  'undefined',
  '__proto__',
  '{"token":1}',
  '../../etc/passwd',
  'a\u0000b',
  'a\r\nx-injected: 1',
  '\ud800',
  '🗝️',
  '%00',
  '====',
  'eyJhbGciOiJub25lIn0.e30.',
  ...['', 'null', '1', '""', '[]', '{}', '{', '{"__proto__":{}}', '['.repeat(5000)].map(base64url),
  'A'.repeat(1024 * 1024),
]

/** The text with another digit at a position, so that it differs in more than the case of letters. */
export function changedAt(text: string, position: number): string {
  return `${text.slice(0, position)}${text[position] === '1' ? '2' : '1'}${text.slice(position + 1)}`
}
