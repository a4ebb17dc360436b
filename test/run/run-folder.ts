import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
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

/**
 * Makes the folder. It also caches compiled code: hundreds of processes load the same libraries, and a short process spends
 * half of its time on compiling them. Node and the command `nodekeep` each have a variable for their cache.
 */
export async function makeRunFolder(): Promise<RunFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-run-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  const cache = join(folder, 'cache')
  return {
    tarballs: join(folder, 'tarballs'),
    installation: join(folder, 'installation'),
    coverage: join(folder, 'coverage'),
    env: { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: join(cache, 'tests') },
  }
}
