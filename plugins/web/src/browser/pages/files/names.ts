import { texts } from '../../texts.ts'

/** Characters that cannot be seen, or that change the order of the characters around them (Unicode, UAX #9). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: names of files may contain them.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** Returns a name as it is shown: hidden characters appear as their code points, so that no name looks like another. */
export function shownName(name: string): string {
  return name.replace(hidden, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    return `<U+${code}>`
  })
}

/** Returns what is wrong with a name of a file or folder, or `null`. */
export function nameFault(name: string): string | null {
  return name === '' || name === '.' || name === '..' || /[/\\]/.test(name) ? texts.files.badName : null
}

/** The most bytes of a name in UTF-8. The node refuses longer ones. */
const mostNameBytes = 255

/** The characters of a name before its extension. */
export function stemLength(name: string): number {
  const dot = name.lastIndexOf('.')
  return dot > 0 ? dot : name.length
}

/** Returns a name with a number before its extension, such as `cat (2).jpg`. A long name loses the end of its stem. */
export function numberedName(name: string, number: number): string {
  const stem = [...name.slice(0, stemLength(name))]
  const rest = ` (${number})${name.slice(stemLength(name))}`
  const bytesOf = (text: string) => new TextEncoder().encode(text).length
  while (stem.length > 1 && bytesOf(stem.join('') + rest) > mostNameBytes) stem.pop()
  return stem.join('') + rest
}
