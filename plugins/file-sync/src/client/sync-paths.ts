/**
 * Paths as the node writes them: absolute within the synced folder, with `/` between names in Unicode's NFC. `/` is the folder
 * itself.
 */

/** The folder at the top that belongs to the client. It is never synced, in neither direction. */
export const ownFolder = '/.nodekeep-sync'

/** The path of an entry in a folder. */
export function inFolder(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}

/** The folder that a path is in. `/` for `/`. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** The last name of a path. Empty for `/`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folders above a path, the outermost first, without `/`. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = []
  for (let folder = folderOf(path); folder !== '/'; folder = folderOf(folder)) folders.unshift(folder)
  return folders
}

/** Whether a path is another one, or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === '/' || path.startsWith(`${folder}/`)
}

/**
 * Whether a text is a path in the form of the node, below `/`, and not of the client's own folder. A node may be hostile: with any
 * other path, it could write outside of the synced folder.
 */
export function isSyncPath(path: string): boolean {
  if (!path.startsWith('/') || path.length > 4096 || path !== path.normalize('NFC')) return false
  const names = path.slice(1).split('/')
  return names.every(isName) && folded(names[0] ?? '') !== nameOf(ownFolder)
}

/** The form that a name has in common with all other spellings that some disk takes for it. HFS+ ignores invisible characters. */
export function folded(name: string): string {
  return name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase()
}

function isName(name: string): boolean {
  if (name === '' || name === '.' || name === '..') return false
  return !/[\0\\]/.test(name) && name.isWellFormed() && Buffer.byteLength(name) <= 255
}
