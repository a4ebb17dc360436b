/** Returns the path of a name in a folder. Paths begin with `/` and do not end with it, except `/` itself. */
export function pathIn(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}

/** Returns the folder that holds a path. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Returns the last name of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Whether a path is another one, or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(pathIn(folder, ''))
}

/** Returns the address of a folder within the pages. */
export function folderAddress(path: string): string {
  return path === '/' ? '#/files' : `#/files${path.split('/').map(encodeURIComponent).join('/')}`
}

/** Returns the address of the content of a file. */
export function contentAddress(path: string): string {
  return `/read?path=${encodeURIComponent(path)}`
}

/** Returns the address of a preview of a file. The sizes are those of the plugin `previews`. */
export function previewAddress(path: string, size: 'small' | 'medium' | 'large'): string {
  return `/api/previews?${new URLSearchParams({ path, size })}`
}

/** Returns the address of a former content of a file. */
export function versionAddress(path: string, id: string): string {
  return `/api/files/versions/read?${new URLSearchParams({ path, id })}`
}

/** Returns the address of an archive of a folder. */
export function archiveAddress(path: string): string {
  return `/api/files/archive?path=${encodeURIComponent(path)}`
}
