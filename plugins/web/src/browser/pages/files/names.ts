import * as texts from '../../texts.ts'

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
