import { Refusal } from '@nodekeep/plugin-sdk/sandbox-content'

/** Control characters that no text has. NUL is in nearly every other kind of file. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what they are looked for by
const controls = /[\x00-\x08\x0e-\x1a\x1c-\x1f]/

/** Bytes at the begin that decide whether a file is a text. */
const headBytes = 8192

/** Most bytes of a character: those of a pair of surrogates count for two. */
const bytesPerCharacter = 3

/**
 * Decodes a text: UTF-8, UTF-16 with a byte order mark, otherwise Windows-1252, which has the characters of Latin-1.
 *
 * @param mostCharacters that are needed. The text may have more
 * @throws Refusal if it is none
 */
export function plainText(whole: Uint8Array, mostCharacters = Number.POSITIVE_INFINITY): string {
  const content = whole.subarray(0, mostCharacters * bytesPerCharacter)
  if (content[0] === 0xff && content[1] === 0xfe) return new TextDecoder('utf-16le').decode(content)
  if (content[0] === 0xfe && content[1] === 0xff) return new TextDecoder('utf-16be').decode(content)
  const head = new TextDecoder('latin1').decode(content.subarray(0, headBytes))
  if (controls.test(head)) throw new Refusal('It is no text.')
  try {
    // As of a stream: the beginning of a file may end within a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(content, { stream: true })
  } catch {
    return new TextDecoder('latin1').decode(content)
  }
}
