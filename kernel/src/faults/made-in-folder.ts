import { sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stackOf } from '../errors/thrown.ts'

/** Returns whether an error was made by code in a folder, such as a plugin's package. Its stack names the files. */
export function wasMadeIn(folder: string, thrown: unknown): boolean {
  const stack = stackOf(thrown)
  return stack.includes(`${pathToFileURL(folder).href}/`) || stack.includes(`${folder}${sep}`)
}
