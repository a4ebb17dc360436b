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
