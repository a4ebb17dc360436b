import ignore from 'ignore'
import type { Disk } from './ports.ts'
import { SyncFailure } from './sync-failure.ts'
import { folded, nameOf, ownFolder } from './sync-paths.ts'

/** The file with rules about paths that are left alone, in the syntax of `.gitignore`. */
export const ignoreFile = '/.nodekeepignore'

/** The most bytes of the file with the rules. */
const mostBytes = 64 * 1024

/** The most `**` in a rule. Each takes the time of one more comparison for each folder of a path. */
const mostAnyFolders = 2

/** Paths after which the rules are read anew: the library remembers the outcome of each one for good. */
const mostRemembered = 10_000

/**
 * Reads the rules from the disk. Without the file, there are none.
 *
 * @throws SyncFailure `stop` if they are too long: without the rules, what they name would be sent
 */
export async function readIgnoreFile(disk: Pick<Disk, 'stat' | 'read'>): Promise<string> {
  const entry = await disk.stat(ignoreFile)
  if (entry?.type !== 'file') return ''
  if (entry.size > mostBytes) throw unfit(`It has more than ${mostBytes} bytes.`)
  const content = await disk.read(ignoreFile, entry)
  try {
    return new TextDecoder().decode(Buffer.concat(await Array.fromAsync(content.read())))
  } finally {
    await content.close()
  }
}

/**
 * Returns a function that says whether a path is ignored. Paths in the client's own folder are always ignored, at any depth: a synced
 * folder may be in another one, or be copied there.
 *
 * @param text rules in the syntax of `.gitignore`: https://git-scm.com/docs/gitignore
 * @throws SyncFailure `stop` for a rule that takes too long, which a node that is hostile could give
 */
export function ignoreRules(text: string): (path: string, isFolder: boolean) => boolean {
  const slow = text.split('\n').find((rule) => rule.split('**').length - 1 > mostAnyFolders)
  if (slow !== undefined) throw unfit(`A rule has "**" more than twice: ${slow.slice(0, 100)}`)
  const read = () => ignore({ ignoreCase: false }).add(text)
  let rules = read()
  let asked = 0
  return (path, isFolder) => {
    if (isOwn(path)) return true
    asked += 1
    if (asked % mostRemembered === 0) rules = read()
    return rules.ignores(`${path.slice(1)}${isFolder ? '/' : ''}`)
  }
}

function isOwn(path: string): boolean {
  return `${folded(path)}/`.includes(`/${nameOf(ownFolder)}/`)
}

function unfit(reason: string): SyncFailure {
  return new SyncFailure('stop', `The file ${nameOf(ignoreFile)} cannot be used. ${reason}`)
}
