import { NodekeepError } from '@nodekeep/plugin-sdk'
import semver from 'semver'

/** A release of the index. */
interface IndexedRelease {
  readonly version: string
  readonly notes: string
}

/** The releases for one kind of machine: `<os>-<arch>/index.json` of the repository. */
export interface ReleaseIndex {
  /** The version of the newest release. */
  readonly latest: string
  readonly releases: readonly IndexedRelease[]
}

/** The kind of this machine, as in names of archives: `linux-x64`. */
export const thisMachine = `${process.platform}-${process.arch}`

/** The path of the index in the repository. */
export const indexPath = `${thisMachine}/index.json`

/** The path of a release's archive in the repository. */
export function archivePath(version: string): string {
  return `${thisMachine}/nodekeep-${version}-${thisMachine}.tar.gz`
}

const versionForm = /^\d+\.\d+\.\d+$/

/**
 * Reads an index, which is signed: `{ latest, releases: [{ version, notes, archive }] }`. An archive for another kind of machine is
 * refused, since the node could not run it.
 *
 * @throws NodekeepError UPSTREAM_ERROR
 */
export function readIndex(content: Buffer): ReleaseIndex {
  const index = parsed(content)
  const { latest, releases } = index
  if (!Array.isArray(releases)) throw unusable('it lists no releases')
  for (const release of releases) {
    const { version, notes, archive } = (release ?? {}) as Record<string, unknown>
    if (typeof version !== 'string' || !isVersion(version) || typeof notes !== 'string')
      throw unusable('a release has no version or no notes')
    if (archive !== archivePath(version)) throw unusable(`the release ${version} is not for ${thisMachine}`)
  }
  const known = releases as IndexedRelease[]
  if (!known.some(({ version }) => version === latest))
    throw unusable('its latest release is not in the list')
  return { latest: String(latest), releases: known }
}

/** A version with numbers that are too large cannot be compared. */
function isVersion(text: string): boolean {
  return versionForm.test(text) && semver.valid(text) === text
}

function parsed(content: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(content.toString())
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // The error would quote the content.
  }
  throw unusable('it is no JSON object')
}

function unusable(reason: string): NodekeepError {
  return new NodekeepError(
    'UPSTREAM_ERROR',
    `The list of releases for this machine cannot be used: ${reason}. Its publisher has to correct it.`,
  )
}
