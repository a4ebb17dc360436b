import { NodekeepError } from '@nodekeep/plugin-sdk'

declare const clean: unique symbol

/**
 * A checked absolute path within a user's files: `/`, or `/`-separated segments in NFC. No segment is empty, `.` or `..`,
 * or longer than 255 bytes of UTF-8. The whole path has at most 4,096 bytes, without NUL or backslash.
 */
export type UserPath = string & { readonly [clean]: true }

export const root = '/' as UserPath

/** Bytes of UTF-8 in one segment: the limit of common file systems. */
const longestSegment = 255

/** Bytes of UTF-8 in a path: `PATH_MAX` of Linux. */
export const longestPath = 4096

/**
 * Checks and normalizes a path from outside. Names that are equal under Unicode's NFC are one name. Nothing is decoded or
 * resolved: an ambiguous path is refused.
 *
 * @param what the subject of the error message
 * @throws NodekeepError VALIDATION_ERROR that says what is wrong with the path
 */
export function userPath(path: string, what = 'The path'): UserPath {
  if (path === root) return root
  if (typeof path !== 'string') throw new NodekeepError('VALIDATION_ERROR', `${what} must be text.`)
  // Normalizing takes the square of the length in the worst case, so a longer path is refused first.
  if (path.length > longestPath) throw tooLong(what)
  const normal = path.normalize('NFC')
  const problem = findProblem(normal)
  if (problem !== undefined) throw new NodekeepError('VALIDATION_ERROR', `${what} ${problem}.`)
  if (Buffer.byteLength(normal) > longestPath) throw tooLong(what)
  return normal as UserPath
}

function findProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must begin with "/"'
  if (path.includes('\0')) return 'must not contain the character NUL'
  if (path.includes('\\')) return 'must not contain a backslash; folders are separated by "/"'
  if (!path.isWellFormed()) return 'is not valid Unicode text'
  if (path.endsWith('/')) return 'must not end with "/"'
  for (const segment of path.slice(1).split('/')) {
    if (segment === '') return 'must not contain "//"'
    if (segment === '.' || segment === '..') return 'must not contain "." or ".." as a name'
    if (Buffer.byteLength(segment) > longestSegment)
      return `has a name that is longer than ${longestSegment} bytes`
  }
  return undefined
}

function tooLong(what: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `${what} is longer than ${longestPath} bytes.`)
}

/** The folder that contains a path, `/` for the root itself. */
export function parentOf(path: UserPath): UserPath {
  return (path.slice(0, path.lastIndexOf('/')) || root) as UserPath
}

/** All folders that contain a path, the nearest first; none for the root. */
export function foldersAbove(path: UserPath): UserPath[] {
  const folders: UserPath[] = []
  for (let at = path; at !== root; ) {
    at = parentOf(at)
    folders.push(at)
  }
  return folders
}

/**
 * Leaves out the paths that are within others of them. It sorts the paths, so that a path of 2,000 levels is compared with its
 * neighbors only: looking for each folder above it would take the square of the levels.
 */
export function outermost<Path extends string>(paths: Iterable<Path>): Path[] {
  // As NUL, a slash comes before all other characters: a folder is followed by all that is in it.
  const sorted = [...new Set(paths)]
    .map((path) => [path === '/' ? '' : path.replaceAll('/', '\0'), path] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const kept: Path[] = []
  for (const [, path] of sorted) {
    const last = kept.at(-1)
    if (last === undefined || !isWithin(path, last)) kept.push(path)
  }
  return kept
}

/** The path of an entry in a folder. */
export function childOf(folder: UserPath, name: string): UserPath {
  return (folder === root ? `/${name}` : `${folder}/${name}`) as UserPath
}

/** Whether a path is the folder itself or lies in it, at any depth. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || isBelow(path, folder)
}

/** Whether a path lies in a folder, at any depth. */
export function isBelow(path: string, folder: string): boolean {
  return folder === '/' ? path !== '/' : path.startsWith(folder) && path[folder.length] === '/'
}
