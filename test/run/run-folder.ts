import { rmSync } from 'node:fs'
import { mkdtemp, statfs } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder that all tests of one run share. It is removed when the run ends. */
interface RunFolder {
  /** The folder of the packed packages. They are packed once for all tests. */
  readonly tarballs: string
  /** The folder in which the packed packages are installed. They are installed once for all tests. */
  readonly installation: string
  /** The folder into which processes write their coverage, if it is measured. */
  readonly coverage: string
  /** Variables that tell the processes of the tests about the folder. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Names the folder of packed packages. A test that runs without this variable packs the packages itself. The name does not
 * begin with `NODEKEEP_`, because a node refuses unknown variables that do.
 */
export const tarballsVariable = 'TEST_TARBALLS'

/** Names the folder in which the packed packages are installed. */
export const installationVariable = 'TEST_INSTALLATION'

/** The type of a file system in memory (`TMPFS_MAGIC` of statfs(2)). */
const tmpfs = 0x01021994

/** The least free bytes of a file system in memory that temporary files of tests may use, and half of the memory that must be available. */
const leastRoom = 8 * 2 ** 30

/**
 * Returns the file system in memory, for temporary files of tests; `undefined` if it has too little room, or if `TMPDIR` names a folder.
 *
 * Hundreds of nodes make files and remove them again. An ext4 without a journal looks at all files that were removed in the last minutes
 * whenever it makes one, which takes a third of the CPU time of such tests.
 */
export async function memoryFolder(): Promise<string | undefined> {
  const folder = '/dev/shm'
  if (process.env.TMPDIR !== undefined || process.availableMemory() < 2 * leastRoom) return undefined
  const found = await statfs(folder).catch(() => null)
  return found?.type === tmpfs && found.bavail * found.bsize >= leastRoom ? folder : undefined
}

/**
 * Makes the folder. It also caches compiled code: hundreds of processes load the same libraries, and a short process spends
 * half of its time on compiling them. Node and the command `nodekeep` each have a variable for their cache.
 *
 * @param memory a file system in memory for the cache, since each process and thread adds to it when it ends
 */
export async function makeRunFolder(memory: string | undefined): Promise<RunFolder> {
  const folder = await makeTemporary(join(tmpdir(), 'nodekeep-run-'))
  const cache = await makeTemporary(join(memory ?? folder, 'nodekeep-cache-'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  return {
    tarballs: join(folder, 'tarballs'),
    installation: join(folder, 'installation'),
    coverage: join(folder, 'coverage'),
    env: { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: join(cache, 'tests') },
  }
}

/** Makes a folder that is removed when the run ends. */
export async function makeTemporary(prefix: string): Promise<string> {
  const folder = await mkdtemp(prefix)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
