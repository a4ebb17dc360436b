import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/** What the tests of one run share. It is theirs alone, and goes with the process that runs them. */
export interface RunFolder {
  /** Where the packages are packed to, once for all tests that install them. */
  readonly tarballs: string
  /** Where they are installed, once for all tests that use them so. */
  readonly installation: string
  /** What tells all processes of the tests about the folder. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * The variable that names the folder of tarballs to tests; without it they pack for themselves. A node refuses variables
 * whose names begin like those of its configuration.
 */
export const tarballsVariable = 'TEST_TARBALLS'

/** The same for the folder that they are installed in. */
export const installationVariable = 'TEST_INSTALLATION'

/**
 * Makes the folder. Compiled code is kept in it: hundreds of processes load the same libraries, and half of the time
 * of a short one goes into compiling them. Node itself and the command line `nodekeep` have a variable each for it.
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
    env: { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: join(cache, 'tests') },
  }
}
