/** Returns the name of the file or folder at a path: the part after the last `/`. `/` for the root. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || '/'
}

/** Returns the path of the folder that contains an entry. `/` for the root itself. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
