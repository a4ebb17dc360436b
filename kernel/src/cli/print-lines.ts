/** Control characters, which a terminal obeys, and those that change the direction of writing. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Writes lines to standard output. What a terminal would obey is shown as JSON escapes it, and JSON stays JSON. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line.replace(unprintable, escaped)}\n`).join(''))
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
