import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'

const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants

/** The owner of a file, as the system knows it. */
type Account = Pick<Stats, 'uid' | 'gid'>

/**
 * Gives files and folders, with all that is in them, to the account of the node: the owner of its data folder. Only root makes files
 * that another account cannot use, so this does nothing for everybody else. A path that does not exist is left out.
 *
 * The account of the node can change the folders meanwhile, and must not get other files of root by that. So links are left out.
 *
 * @throws errors of the system
 */
export async function giveToNode(dataFolder: string, paths: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) return
  const account = statSync(dataFolder, { throwIfNoEntry: false })
  if (account === undefined || account.uid === 0) return
  for (const path of paths) await give(path, account)
}

async function give(path: string, account: Account): Promise<void> {
  const descriptor = open(path)
  if (descriptor === null) return
  try {
    const found = fstatSync(descriptor)
    if (!found.isDirectory() && found.nlink > 1) return
    if (found.uid !== account.uid || found.gid !== account.gid)
      fchownSync(descriptor, account.uid, account.gid)
    if (!found.isDirectory()) return
    // A path that begins at the descriptor leads through no link, and is short.
    const folder = process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : path
    for (const name of readdirSync(folder)) await give(`${folder}/${name}`, account)
    await nextTurn()
  } finally {
    closeSync(descriptor)
  }
}

function open(path: string): number | null {
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}
