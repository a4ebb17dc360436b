import { defineService } from '../service.ts'

/** A release that can be installed. */
export interface Release {
  /** `<major>.<minor>.<patch>` */
  readonly version: string
  /** The release notes for people, in Markdown. They may be empty. */
  readonly notes: string
}

/** Options of a download. */
export interface ReleaseDownloadOptions {
  readonly signal: AbortSignal
  /** Receives the share that is done, from 0 to 1. It never falls, and its last value is 1. */
  readonly onProgress?: (share: number) => void
}

/**
 * Finds and downloads releases for this machine. The caller trusts the result, so the source verifies everything: that the release
 * comes from its publisher, that nobody has changed it, and that nobody offers an older state of the source than the node has seen, also
 * before its last start. The trust in the publisher comes with the node or with its configuration, and not with what is found first.
 *
 * A server of releases may belong to an attacker. A source takes at most 16 MiB of the files that list the releases and 1 GiB of a packed
 * release, and less if what is signed tells a length. It follows redirects only to origins that the configuration names: the server must
 * not choose which machines of the network the node talks to.
 *
 * Methods throw NodekeepError: UPSTREAM_ERROR if the source cannot be reached, or if something that it sends cannot be verified;
 * UPSTREAM_TIMEOUT if it is too slow; the reason of the signal when that aborts.
 */
export interface UpdateSource {
  /** Whether the configuration names a source. Without one, `latest` finds nothing. */
  readonly isConfigured: boolean
  /** Finds the newest release. Returns `null` if it is not newer than the current version, and before anything is published. */
  latest(currentVersion: string, signal: AbortSignal): Promise<Release | null>
  /**
   * Downloads and verifies a release, and unpacks it into an empty folder, with `release.json` at its top. That file describes the
   * release: it is the JSON of a `ReleaseFile` of `@nodekeep/plugin-sdk/supervision`. Programs stay executable. When it rejects, the folder
   * is empty.
   *
   * @param release one that {@link latest} has returned
   * @throws NodekeepError NOT_FOUND if the source does not have the release any more; CONFLICT if the folder is not empty;
   *   INSUFFICIENT_STORAGE
   */
  download(release: Pick<Release, 'version'>, folder: string, options: ReleaseDownloadOptions): Promise<void>
}

/** The source of updates. */
export const UpdateSource = defineService<UpdateSource>('update-source', 1)
