import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { makePrivateFolder } from '@nodekeep/plugin-sdk/data-folder'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'
import { messageOf, type ReleaseFile } from '@nodekeep/plugin-sdk/supervision'

/** The fields of `release.json` that this version reads. */
export type ReleaseManifest = Pick<ReleaseFile, 'version' | 'schema'>

/** Copies of all databases from directly before the trial of a version. */
export interface KeptCopies {
  /** The absolute path of their folder, in which they have the paths that they have in the data folder. */
  readonly path: string
  readonly before: string
}

/** The symbolic links to the release in use, and to the one before it. */
type ReleaseLink = 'current' | 'former'

/** The folder that has the releases, and the links to those in use. */
export class ReleaseFolder {
  /** The absolute path, without symbolic links. */
  readonly path: string

  /** Makes the folder, if it is not there. An account that may write into it may change the release that runs, so it gets the mode 0700. */
  constructor(path: string) {
    makePrivateFolder(path)
    this.path = realpathSync(path)
  }

  /** The folder of archives that are being unpacked. */
  get unpacking(): string {
    return join(this.path, 'new')
  }

  /** Returns the folder of a kept release. */
  folderOf(version: string): string {
    return join(this.path, version)
  }

  /** Returns the folder for the copies of all databases from directly before the trial of a version. */
  copiesBefore(version: string): string {
    return join(this.path, copiesPrefix + version)
  }

  /** The folder of copies that are being made. */
  get copying(): string {
    return join(this.path, 'copying')
  }

  /** Returns all copies that are there. Those of an update that failed on trial have been put back. */
  copies(): KeptCopies[] {
    return readdirSync(this.path)
      .filter((name) => name.startsWith(copiesPrefix))
      .map((name) => ({ path: join(this.path, name), before: name.slice(copiesPrefix.length) }))
  }

  /** Returns the absolute path of the target of a link; `null` without a link, or if there is no release. */
  target(link: ReleaseLink): string | null {
    try {
      const path = resolve(this.path, readlinkSync(join(this.path, link)))
      return isRelease(path) ? path : null
    } catch {
      return null
    }
  }

  /**
   * Returns the absolute path of the release in use.
   *
   * @throws Error with one sentence for people, if there is none
   */
  inUse(): string {
    const current = this.target('current')
    if (current !== null) return current
    throw new Error(
      `There is no release at ${join(this.path, 'current')}. Put it back, or remove the link and run "nodekeep supervise" of another release.`,
    )
  }

  /** Points a link at a release, in one step. It is on the disk when this returns. */
  link(link: ReleaseLink, release: string): void {
    const draft = join(this.path, `${link}.new`)
    rmSync(draft, { force: true })
    const name = release.slice(this.path.length + 1)
    symlinkSync(release === this.folderOf(name) && !name.includes('/') ? name : release, draft)
    renameSync(draft, join(this.path, link))
    syncFolderSync(this.path)
  }

  unlink(link: ReleaseLink): void {
    rmSync(join(this.path, link), { force: true })
    syncFolderSync(this.path)
  }

  /** Makes the former release the one in use, in one step that needs no space on the disk. Calling it again does nothing. */
  restoreFormer(): void {
    const former = join(this.path, 'former')
    if (isThere(former)) renameSync(former, join(this.path, 'current'))
    syncFolderSync(this.path)
  }

  /** If no release is in use yet, the given one is from now on. */
  prepare(first: string | null): void {
    if (this.target('current') === null && first !== null) this.link('current', first)
  }

  /** Returns the paths of the releases that nothing needs while no change runs. */
  unused(): string[] {
    const used = new Set(
      (['current', 'former'] as const).flatMap((link) => {
        const target = this.target(link)
        return target === null ? [] : [realpathSync(target)]
      }),
    )
    return readdirSync(this.path)
      .filter((name) => versionPattern.test(name))
      .map((name) => join(this.path, name))
      .filter((path) => !used.has(path))
  }
}

const copiesPrefix = 'before-'

/** A version as it names a folder. */
export const versionPattern = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/

/** Removes the count that the launcher keeps of the supervisors that have not worked, one after the other. */
export function forgetFailedStarts(releases: string): void {
  rmSync(join(releases, 'failed-starts'), { force: true })
}

/** Returns the path of the command of a release. */
export function commandOf(release: string): string {
  return join(release, 'bin', 'nodekeep')
}

/** @throws Error with one sentence for people, if there is no release in the folder */
export function readManifest(release: string): ReleaseManifest {
  const file = join(release, 'release.json')
  let content: Partial<ReleaseManifest> | null
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`There is no release in ${release}: ${messageOf(error)}.`, { cause: error })
  }
  const { version, schema } = content ?? {}
  if (typeof version !== 'string' || !versionPattern.test(version) || !Array.isArray(schema)) {
    throw new Error(`${file} does not describe a release.`)
  }
  return { version, schema }
}

/** Unlike `existsSync`, it sees a symbolic link whose target is missing. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function isRelease(path: string): boolean {
  return isThere(join(path, 'release.json'))
}
