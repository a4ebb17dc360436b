import { defineService } from '../service.ts'

/** A release that can be installed. */
export interface Release {
  /** `<major>.<minor>.<patch>` */
  readonly version: string
  /** The release notes for people, in Markdown. */
  readonly notes: string
}

/** Finds and downloads releases. The caller trusts the result, so the source must verify everything. */
export interface UpdateSource {
  /**
   * Finds the newest release for this node, or `null` if none is newer.
   *
   * @throws NodekeepError UPSTREAM_ERROR if the source cannot be reached or its metadata fails verification
   */
  latest(currentVersion: string, signal: AbortSignal): Promise<Release | null>
  /**
   * Verifies the signature and the hashes of a release, then unpacks it into an empty folder.
   *
   * @param onProgress receives the completed share, from 0 to 1
   */
  download(
    release: Release,
    folder: string,
    options: { readonly signal: AbortSignal; readonly onProgress?: (fraction: number) => void },
  ): Promise<void>
}

/** The source of updates. */
export const Updates = defineService<UpdateSource>('update-source', 1)
