import { folderOf, inFolder, nameOf } from './sync-paths.ts'

/** The longest name on a disk, in bytes of UTF-8. */
const longestName = 255

/** The longest ending that counts as one, in bytes of UTF-8. */
const longestExtension = 32

/** The version of a file that loses its name. */
export interface AsideVersion {
  /** The device that alone has it. `null` if others have it too: all of them give it the same name then. */
  readonly device: string | null
  /** Milliseconds since 1970: now for the version of a device, and the time of modification for one that others have too. */
  readonly time: number
}

/** The last millisecond since 1970 that has a year of four digits. Disks have later ones. */
const latestTime = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * The path beside another one for a version that loses its name: `report (conflict laptop 2026-11-23 140512).odt`, in UTC.
 *
 * @param isTaken tells whether something is at a path
 */
export function conflictPath(
  path: string,
  { device, time }: AsideVersion,
  isTaken: (path: string) => boolean,
): string {
  const known = Math.min(Math.max(0, time), latestTime)
  const stamp = new Date(known).toISOString().slice(0, 19).replace('T', ' ').replaceAll(':', '')
  const mark = device === null ? stamp : `${cleaned(device)} ${stamp}`
  for (let count = 1; ; count += 1) {
    const tail = ` (conflict ${mark}${count === 1 ? '' : ` ${count}`})`
    const found = inFolder(folderOf(path), nameWith(nameOf(path), tail, longestName))
    if (!isTaken(found)) return found
  }
}

/** A name with a text before its ending. The rest is shortened if the whole would have too many bytes of UTF-8. */
export function nameWith(name: string, text: string, mostBytes: number): string {
  const dot = name.lastIndexOf('.')
  const hasExtension = dot > 0 && bytes(name.slice(dot)) <= longestExtension
  const [stem, extension] = hasExtension ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const tail = text + extension
  return shortened(stem, mostBytes - bytes(tail)) + tail
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
