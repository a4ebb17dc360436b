/** Control characters, which a terminal executes, and characters that change the direction of text. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Writes lines to standard output. Control characters are escaped as in JSON, so JSON stays valid. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line.replace(unprintable, escaped)}\n`).join(''))
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
