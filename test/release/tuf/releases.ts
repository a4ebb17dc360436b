import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join, posix } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { archiveEntries } from '@nodekeep/plugin-sdk/archive'
import type { ReleaseFile } from '@nodekeep/plugin-sdk/supervision'
import { compare, gt, prerelease, valid } from 'semver'
import { releaseName } from '../release-archive.ts'
import { type FileFacts, factsOf } from './metadata.ts'
import { type Repository, replaceFile } from './repository.ts'
import type { SigningKey } from './signing-key.ts'

/** The number of releases that a repository keeps for each platform. */
const keptReleases = 20
/** Unpacked, a release is a third of this. */
const maxBytes = 2 ** 30

/** A release in the index of its platform. */
interface IndexedRelease {
  readonly version: string
  /** Markdown. */
  readonly notes: string
  /** When it was added, in the form of ISO 8601. */
  readonly released: string
  /** The path of the archive among the files of the repository. */
  readonly archive: string
}

/** The content of `<os>-<arch>/index.json`, which tells nodes what the latest release is. */
interface ReleaseIndex {
  readonly latest: string
  /** Newest first, at most 20. */
  readonly releases: readonly IndexedRelease[]
}

/** An archive that `npm run release` made, and its notes in Markdown. */
interface NewRelease {
  readonly file: string
  readonly notes: (version: string) => string
}

/**
 * Adds releases to a repository and signs them. The 20 newest of each platform stay. A release that is there already with the same
 * content is left as it is, so that an interrupted run can be repeated.
 *
 * @returns the paths of the new archives among the files of the repository
 * @throws an error, before anything is signed, if an archive is damaged or no release, or is not newer than all that are there
 */
export async function addReleases(
  repository: Repository,
  releases: readonly NewRelease[],
  keys: readonly SigningKey[],
  now = new Date(),
): Promise<string[]> {
  const targets: Record<string, FileFacts> = { ...repository.targets }
  const added: string[] = []
  const dropped: string[] = []
  for (const { file, notes } of releases) {
    const { version, platform } = await describeArchive(file)
    const archive = posix.join(platform, basename(file))
    const facts = await factsOfFile(file)
    const known = targets[archive]
    if (known?.hashes.sha256 === facts.hashes.sha256) continue
    if (known !== undefined) throw new Error(`${archive} is published already, with another content.`)
    const { latest, releases: earlier = [] } = (await readIndex(repository, platform, targets)) ?? {}
    if (latest !== undefined && !gt(version, latest))
      throw new Error(`${version} is not newer than ${latest}, which is published. Nodes never go down.`)
    const entry = { version, notes: notes(version), released: now.toISOString(), archive }
    const all = [entry, ...earlier].sort((one, other) => compare(other.version, one.version))
    const index: ReleaseIndex = { latest: version, releases: all.slice(0, keptReleases) }
    const content = Buffer.from(`${JSON.stringify(index, null, 1)}\n`)
    await placeFile(repository, archive, facts, (to) => copyFile(file, to))
    await placeFile(repository, indexOf(platform), factsOf(content), (to) => replaceFile(to, content))
    targets[archive] = facts
    targets[indexOf(platform)] = factsOf(content)
    added.push(archive)
    for (const { archive } of all.slice(keptReleases)) {
      const facts = targets[archive]
      if (facts !== undefined) dropped.push(join(repository.folder, 'targets', hashedPath(archive, facts)))
      dropped.push(join(repository.folder, 'targets', archive))
      delete targets[archive]
    }
  }
  if (added.length === 0) return added
  await repository.setTargets(targets, keys, now)
  for (const archive of added) await offerToPeople(repository, archive)
  for (const path of dropped) await rm(path, { force: true })
  return added
}

/** Reads the index of a platform; `undefined` if it has no releases. */
export async function readIndex(
  { folder, targets }: Pick<Repository, 'folder' | 'targets'>,
  platform: string,
  among = targets,
): Promise<ReleaseIndex | undefined> {
  const facts = among[indexOf(platform)]
  if (facts === undefined) return undefined
  return JSON.parse(await readFile(join(folder, 'targets', hashedPath(indexOf(platform), facts)), 'utf8'))
}

/** Returns the platforms with releases. */
export function platformsOf({ targets }: Pick<Repository, 'targets'>): string[] {
  const indexes = Object.keys(targets).filter((path) => posix.basename(path) === 'index.json')
  return indexes.map((path) => posix.dirname(path)).sort()
}

/** The path of the index of a platform among the files of a repository. */
export function indexOf(platform: string): string {
  return posix.join(platform, 'index.json')
}

/** The path below `targets/` of a file in a repository with consistent snapshots (TUF specification, section 6.2). */
export function hashedPath(path: string, { hashes }: FileFacts): string {
  return posix.join(posix.dirname(path), `${hashes.sha256}.${posix.basename(path)}`)
}

/** Reads an archive to its end, which finds damage, and returns its `release.json`. */
async function describeArchive(file: string): Promise<ReleaseFile> {
  let release: ReleaseFile | undefined
  for await (const { path, content } of archiveEntries(createReadStream(file), { maxBytes })) {
    if (/^[^/]+\/release\.json$/.test(path)) release = JSON.parse(await text(content))
  }
  if (release === undefined) throw new Error(`${file} is no release: it has no release.json.`)
  // Nodes refuse the whole index if it has another form of version.
  if (valid(release.version) !== release.version || prerelease(release.version) !== null)
    throw new Error(`${file} has the version "${release.version}". Published versions are like 1.2.0.`)
  const name = `${releaseName(release)}.tar.gz`
  if (basename(file) !== name) throw new Error(`${file} must have the name ${name}.`)
  return release
}

async function factsOfFile(file: string): Promise<FileFacts> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return { length: (await stat(file)).size, hashes: { sha256: hash.digest('hex') } }
}

/** Writes a file of the repository, under its hash. */
async function placeFile(
  { folder }: Repository,
  path: string,
  facts: FileFacts,
  write: (to: string) => Promise<void>,
): Promise<void> {
  const place = join(folder, 'targets', hashedPath(path, facts))
  await mkdir(join(folder, 'targets', posix.dirname(path)), { recursive: true })
  const temporary = `${place}.part`
  await write(temporary)
  const handle = await open(temporary, 'r')
  await handle.sync().finally(() => handle.close())
  await rename(temporary, place)
}

/** Offers an archive under its plain name too, with a list of checksums for `sha256sum --check`. */
async function offerToPeople({ folder, targets }: Repository, archive: string): Promise<void> {
  const facts = targets[archive]
  if (facts === undefined) return
  const hashed = join(folder, 'targets', hashedPath(archive, facts))
  const plain = join(folder, 'targets', archive)
  await rm(plain, { force: true })
  // A second name takes no space. Not every disk has hard links.
  await link(hashed, plain).catch(() => copyFile(hashed, plain))
  const platform = posix.dirname(archive)
  const lines = Object.entries(targets)
    .filter(([path]) => posix.dirname(path) === platform && path !== indexOf(platform))
    .map(([path, { hashes }]) => `${hashes.sha256}  ${posix.basename(path)}\n`)
  await replaceFile(join(folder, 'targets', platform, 'SHA256SUMS'), lines.sort().join(''))
}
