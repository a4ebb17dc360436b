/** `npm run release [-- FOLDER]`: builds the release of this platform. RELEASING.md describes it. */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { root } from '../run/command.ts'
import { packWorkspaces, tarballsIn } from './pack.ts'
import { packRelease } from './release-archive.ts'
import { makeReleaseFolder, type ReleaseParts } from './release-folder.ts'

/** How a release is built, beside its parts. */
interface BuildOptions extends Omit<ReleaseParts, 'packages'> {
  /** Tarballs of the packages. Default: they are packed now. */
  readonly packages?: ReadonlyMap<string, string>
  /** The level of compression, 1 to 9. Default: 9. */
  readonly level?: number
}

/**
 * Builds `nodekeep-<version>-<os>-<arch>.tar.gz` from the sources as they are, for the platform of this machine. It needs no
 * network. Two builds of a commit are equal.
 *
 * @param into receives the archive
 * @returns the path of the archive
 */
export async function buildRelease(
  into: string,
  { packages, level, ...parts }: BuildOptions = {},
): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'nodekeep-release-'))
  try {
    const folder = join(work, 'release')
    await makeReleaseFolder(folder, {
      ...parts,
      packages: packages ?? (await packWorkspaces(join(work, 'packages'))),
    })
    await mkdir(into, { recursive: true })
    return await packRelease(folder, into, level)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const program = new Command('npm run release --')
    .description('Build the release of this platform: an archive that runs without an installation.')
    .argument('[folder]', 'receives the archive', join(root, 'dist'))
    .option('--root <file>', 'metadata/root.json of the repository from which its updates come')
    .option('--packages <folder>', 'take the packages that "npm run pack" wrote into this folder')
    .action(async (folder: string, options: { root?: string; packages?: string }) => {
      const file = await buildRelease(resolve(folder), {
        ...(options.root !== undefined && { trustedRoot: options.root }),
        ...(options.packages !== undefined && { packages: tarballsIn(resolve(options.packages)) }),
      })
      console.log(`${file} (${((await stat(file)).size / 1e6).toFixed(1)} MB)`)
    })
  try {
    await program.parseAsync()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
