import { texts } from '../../texts.ts'

/** Returns the path of a name in a folder. Paths begin with `/` and do not end with it, except `/` itself. */
export function pathIn(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}

/** Returns the folder that holds a path. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Returns what is wrong with a name of a file or folder, or `null`. */
export function nameFault(name: string): string | null {
  return name === '' || name === '.' || name === '..' || /[/\\]/.test(name) ? texts.files.badName : null
}
