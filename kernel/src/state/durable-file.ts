import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from './sync-folder.ts'

/** Replaces a file by an object as JSON. A reader sees the former content or the new one, also after a power cut. */
export function writeDurably(file: string, content: object): void {
  makeParent(file)
  const draft = draftOf(file)
  try {
    writeFileSync(draft, JSON.stringify(content, null, 2), { mode: 0o600, flush: true })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolder(dirname(file))
}

/** Makes the folder of a path durably: what a rename puts into it must not get lost with it. */
export function makeParent(path: string): void {
  const folder = dirname(path)
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (made === undefined) return
  for (let at = folder; at.length >= made.length; at = dirname(at)) syncFolder(dirname(at))
}

/** Returns the file that {@link writeDurably} leaves behind when its process is killed. */
export function draftOf(file: string): string {
  return `${file}.new`
}

/** Removes a file so that it stays away, also after a power cut. */
export function removeDurably(file: string): void {
  rmSync(file)
  syncFolder(dirname(file))
}

/** Returns the object in a JSON file, or `null` if there is no file. */
export function readIfPresent<T>(file: string): T | null {
  return isThere(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : null
}

/** Unlike `existsSync`, it sees a symbolic link that leads nowhere. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
