import ignore from 'ignore'
import type { Disk } from './ports.ts'
import { nameOf, ownFolder } from './sync-paths.ts'

/** The file with rules about paths that are left alone, in the syntax of `.gitignore`. */
export const ignoreFile = '/.nodekeepignore'

/** The most bytes of the file with the rules. */
const mostBytes = 1024 * 1024

/** Reads the rules from the disk. Without the file, there are none. */
export async function readIgnoreFile(disk: Pick<Disk, 'stat' | 'read'>): Promise<string> {
  const entry = await disk.stat(ignoreFile)
  if (entry?.type !== 'file' || entry.size > mostBytes) return ''
  const content = await disk.read(ignoreFile, entry)
  try {
    return new TextDecoder().decode(Buffer.concat(await Array.fromAsync(content.read())))
  } finally {
    await content.close()
  }
}

/**
 * Returns a function that tells whether a path is left alone. That of a client's own folder always is, at any depth: a synced folder
 * may be in another one, or be copied there.
 *
 * @param text rules in the syntax of `.gitignore`: https://git-scm.com/docs/gitignore
 */
export function ignoreRules(text: string): (path: string, isFolder: boolean) => boolean {
  const rules = ignore({ ignoreCase: false }).add(text)
  return (path, isFolder) => isOwn(path) || rules.ignores(`${path.slice(1)}${isFolder ? '/' : ''}`)
}

function isOwn(path: string): boolean {
  return `${path.toLowerCase()}/`.includes(`/${nameOf(ownFolder)}/`)
}
