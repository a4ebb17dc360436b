/** Writes a day, such as `Nov 29, 2026`. */
export function dayText(date: Date): string {
  return date.toLocaleDateString('en', { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' })
}

/** Says until when a link works. */
export function untilText(expires: Date): string {
  return `This link works until ${dayText(expires)}.`
}

/** Characters that cannot be seen, or that change the order of the characters around them (Unicode, UAX #9). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: names of files may contain them.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** Returns a name as it is shown: hidden characters appear as their code points, so that no name looks like another. */
export function shownName(name: string): string {
  return name.replace(
    hidden,
    (character) => `<U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`,
  )
}
