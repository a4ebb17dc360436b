import { createReadStream } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Updater } from 'tuf-js'
import type { FileFacts } from './metadata.ts'
import { hashedPath, indexOf, platformsOf } from './releases.ts'
import { Repository } from './repository.ts'
import { serveFolder } from './static-server.ts'

/**
 * Checks a repository as a node does: with another implementation than the one that wrote it, over HTTP on loopback, from a
 * trusted root on. It checks every archive, and that the indexes name all of them.
 *
 * @param trustedRoot the metadata of `root` to begin with. Default: version 1, which the oldest releases trust
 * @returns the paths of the archives
 * @throws an error that names the first fault
 */
export async function verifyRepository(
  folder: string,
  trustedRoot = join(folder, 'metadata/1.root.json'),
): Promise<string[]> {
  const repository = await Repository.open(folder)
  const client = await mkdtemp(join(tmpdir(), 'nodekeep-verify-'))
  const server = await serveFolder(folder)
  try {
    await copyFile(trustedRoot, join(client, 'root.json'))
    const updater = new Updater({
      metadataDir: client,
      metadataBaseUrl: `${server.url}/metadata`,
      targetDir: client,
      targetBaseUrl: `${server.url}/targets`,
    })
    await updater.refresh()
    const archives: string[] = []
    for (const platform of platformsOf(repository)) {
      const index = await updater.getTargetInfo(indexOf(platform))
      if (index === undefined) throw new Error(`${indexOf(platform)} is not signed.`)
      const { releases } = JSON.parse(await readFile(await updater.downloadTarget(index), 'utf8'))
      for (const { archive } of releases) {
        const target = await updater.getTargetInfo(archive)
        if (target === undefined) throw new Error(`${archive} is not signed.`)
        const file = join(folder, 'targets', hashedPath(archive, target as unknown as FileFacts))
        await target.verify(createReadStream(file))
        archives.push(archive)
      }
    }
    const unnamed = Object.keys(repository.targets).find(
      (path) => !archives.includes(path) && !path.endsWith('/index.json'),
    )
    if (unnamed !== undefined) throw new Error(`${unnamed} is in no index.`)
    return archives
  } finally {
    await server.close()
    await rm(client, { recursive: true, force: true })
  }
}
