import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { packedForTest } from '../release/pack.ts'
import { packRelease } from '../release/release-archive.ts'
import { makeReleaseFolder } from '../release/release-folder.ts'
import { addReleases } from '../release/tuf/releases.ts'
import { Repository } from '../release/tuf/repository.ts'
import { SigningKey } from '../release/tuf/signing-key.ts'
import { serveFolder } from '../release/tuf/static-server.ts'

const run = promisify(execFile)

const platform = `${process.platform}-${process.arch}`

/** The first version that people install. */
const firstVersion = '0.1.0'

/** A change of an unpacked release, which makes another version of it. */
export type ReleaseChange = (folder: string) => Promise<void>

/** A repository of real releases, on loopback. */
export interface ReleaseServer {
  /** The address for the key `url` of `update-tuf`. */
  readonly url: string
  /** The archive of {@link firstVersion}, as people download it. It trusts in this repository. */
  readonly archive: string
  /**
   * Adds a newer release. It has the sources as they are, and the change.
   *
   * @returns the archive, as people download it
   */
  publish(version: string, change?: ReleaseChange): Promise<string>
  close(): Promise<void>
}

/**
 * Builds the first release, and serves a repository for the next ones.
 *
 * @param folder receives everything; it must be empty
 */
export async function serveReleases(folder: string): Promise<ReleaseServer> {
  const key = SigningKey.create()
  const keys = { root: [key], targets: [key], releases: [key], snapshot: [key], timestamp: [key] }
  const repository = await Repository.create(join(folder, 'repository'), keys)
  const built = join(folder, 'built')
  await makeReleaseFolder(built, {
    packages: await packedForTest(join(folder, 'packages')),
    runtime: 'link',
    version: firstVersion,
    trustedRoot: join(repository.folder, 'metadata/root.json'),
  })
  const archive = await packRelease(built, folder, 0)
  const server = await serveFolder(repository.folder)
  return {
    url: server.url,
    archive,
    async publish(version, change) {
      const release = join(folder, version)
      // The files of both are the same ones, so a change replaces a file and does not write into it.
      await run('cp', ['-al', built, release])
      await setVersion(release, version)
      await change?.(release)
      const into = join(folder, 'packed')
      await mkdir(into, { recursive: true })
      const file = await packRelease(release, into, 0)
      await addReleases(repository, [{ file, notes: (of) => `Notes of ${of}` }], [key])
      await Promise.all([release, file].map((path) => rm(path, { recursive: true })))
      return join(repository.folder, 'targets', platform, basename(file))
    },
    close: () => server.close(),
  }
}

/** Gives an unpacked release another version. */
export async function setVersion(release: string, version: string): Promise<void> {
  for (const name of ['release.json', 'node_modules/@nodekeep/kernel/package.json']) {
    const content = JSON.parse(await readFile(join(release, name), 'utf8'))
    await replaceContent(join(release, name), () => JSON.stringify({ ...content, version }))
  }
}

/** Replaces a file of a release that shares its files with others. */
export async function replaceContent(file: string, change: (content: string) => string): Promise<void> {
  const content = await readFile(file, 'utf8')
  await rm(file)
  await writeFile(file, change(content))
}
