/** Paths come clean: absolute, with nothing in them that would have to be checked or resolved. */

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folder that something is in. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

export function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}
