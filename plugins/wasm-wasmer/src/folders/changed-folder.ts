import type { WasmPreopen } from '@nodekeep/plugin-sdk'
import type { Revisions } from './copy-in.ts'

/** What a program stored: a file's content, or null for a folder. */
export interface StoredEntry {
  /** Relative to the folder. */
  readonly path: string
  readonly content: Buffer | null
}

/** What a program changed in a folder. */
export interface ChangedFolder {
  readonly preopen: WasmPreopen
  /** Of the files that were copied in. */
  readonly revisions: Revisions
  /** What is gone: files, and folders with all that was in them. Relative to the folder. */
  readonly removed: readonly string[]
  /** Folders before what is in them. */
  readonly stored: readonly StoredEntry[]
}

/** The path among the user's files. */
export function pathIn({ preopen: { path: folder } }: ChangedFolder, path: string): string {
  return folder === '/' ? `/${path}` : `${folder}/${path}`
}

/** Whether a folder became a file at the path or above it, or a file a folder. Then the one has to go before the other comes. */
export function isReplaced({ removed, stored }: ChangedFolder): (path: string) => boolean {
  const gone = new Set(removed)
  const replaced = new Set(stored.map(({ path }) => path).filter((path) => gone.has(path)))
  return (path) => {
    if (replaced.size === 0) return false
    const names = path.split('/')
    return names.some((_, index) => replaced.has(names.slice(0, index + 1).join('/')))
  }
}
