/** Bytes of a name that a guest chooses. A number may come behind it. */
const longestName = 200

/** Bytes after the last dot of a name that count as the type of the file. */
const longestType = 32

/**
 * Characters that no name should have: control characters, those that change the order of the characters around them (Unicode, UAX #9), and those
 * that common file systems refuse.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: guests may send them.
const unwanted = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff<>:"|?*]/g

/** Makes a name of the text that a guest sent: without folders, hidden characters and dots at its begin, and not too long. */
export function fileName(text: string): string {
  const last = text.toWellFormed().slice(-4096).split(/[/\\]/).at(-1) ?? ''
  const name = last
    .normalize('NFC')
    .replace(unwanted, '')
    .replace(/^[\s.]+|[\s.]+$/g, '')
  return name === '' ? 'file' : shortened(name, '', longestName)
}

/** The name with a number, such as `cat (2).jpg`; without one for the number 1. */
export function numberedName(name: string, number: number): string {
  return number === 1 ? name : shortened(name, ` (${number})`, longestName + 16)
}

function shortened(name: string, end: string, most: number): string {
  const dot = name.lastIndexOf('.')
  const hasType = dot > 0 && Buffer.byteLength(name.slice(dot)) <= longestType
  const rest = `${end}${hasType ? name.slice(dot) : ''}`
  const stem = [...(hasType ? name.slice(0, dot) : name)]
  while (Buffer.byteLength(stem.join('') + rest) > most) stem.pop()
  return stem.join('') + rest
}
