import { folderOf, inFolder, nameOf } from './sync-paths.ts'

/** The longest name on a disk, in bytes of UTF-8. */
const longestName = 255

/** The longest ending that counts as one, in bytes of UTF-8. */
const longestExtension = 32

/**
 * The path beside another one for a version that loses its name: `report (conflict laptop 2026-11-23 140512).odt`, in UTC.
 *
 * @param device names the device that has this version
 * @param now milliseconds since 1970
 * @param isTaken tells whether something is at a path
 */
export function conflictPath(
  path: string,
  device: string,
  now: number,
  isTaken: (path: string) => boolean,
): string {
  const name = nameOf(path)
  const dot = name.lastIndexOf('.')
  const hasExtension = dot > 0 && bytes(name.slice(dot)) <= longestExtension
  const [stem, extension] = hasExtension ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  const mark = `${cleaned(device)} ${date} ${time.slice(0, 8).replaceAll(':', '')}`
  for (let count = 1; ; count += 1) {
    const tail = ` (conflict ${mark}${count === 1 ? '' : ` ${count}`})${extension}`
    const found = inFolder(folderOf(path), `${shortened(stem, longestName - bytes(tail))}${tail}`)
    if (!isTaken(found)) return found
  }
}

/** Leaves out what some disk cannot have in a name. */
function cleaned(device: string): string {
  return shortened(device.replace(/[^\p{L}\p{N} _-]/gu, '').trim() || 'device', 60)
}

function shortened(text: string, most: number): string {
  let characters = [...text]
  while (characters.length > 0 && bytes(characters.join('')) > most) characters = characters.slice(0, -1)
  return characters.join('')
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length
}
