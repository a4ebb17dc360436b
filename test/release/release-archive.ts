import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReleaseFile } from '@nodekeep/plugin-sdk/supervision'
import { create } from 'tar'

/** The name of the one folder in the archive of a release, which is also that of the archive without its ending. */
export function releaseName({ version, platform }: Pick<ReleaseFile, 'version' | 'platform'>): string {
  return `nodekeep-${version}-${platform}`
}

/**
 * Packs the folder of a release as `<into>/nodekeep-<version>-<os>-<arch>.tar.gz`. The same content gives the same bytes:
 * files are in order, `release.json` first, and have no owner, one of two modes, and the date of the build.
 *
 * @param level the level of compression, 0 to 9
 * @returns the path of the archive
 */
export async function packRelease(folder: string, into: string, level = 9): Promise<string> {
  const release: ReleaseFile = JSON.parse(await readFile(join(folder, 'release.json'), 'utf8'))
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length))
    .sort()
  const file = join(into, `${releaseName(release)}.tar.gz`)
  create(
    {
      file,
      cwd: folder,
      prefix: `nodekeep-${release.version}`,
      gzip: { level },
      portable: true,
      sync: true,
      mtime: new Date(release.buildDate),
      strict: true,
      onWriteEntry({ stat, type, path }) {
        if (type !== 'File' || stat === undefined) throw new Error(`${path} is no file.`)
        stat.mode = (stat.mode & 0o100) === 0 ? 0o644 : 0o755
      },
    },
    ['release.json', ...paths.filter((path) => path !== 'release.json')],
  )
  return file
}
