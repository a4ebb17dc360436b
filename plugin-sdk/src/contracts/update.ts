import { defineService } from '../service.ts'

/** A release that can be installed. */
export interface Release {
  /** `<major>.<minor>.<patch>` */
  readonly version: string
  /** For people, Markdown. */
  readonly notes: string
}

/** Finds releases and hands over verified ones. Whoever calls trusts what it returns, so it verifies everything. */
export interface UpdateSource {
  /**
   * The newest release that is meant for this node, or `null` when none is newer.
   *
   * @throws NodekeepError UPSTREAM_ERROR when the source cannot be reached or its metadata is not to be trusted
   */
  latest(currentVersion: string, signal: AbortSignal): Promise<Release | null>
  /**
   * Unpacks a release into an empty folder, after its signature and hashes were verified.
   *
   * @param onProgress how far it is, 0 to 1
   */
  download(
    release: Release,
    folder: string,
    options: { readonly signal: AbortSignal; readonly onProgress?: (fraction: number) => void },
  ): Promise<void>
}

/** Where updates come from. */
export const Updates = defineService<UpdateSource>('update-source', 1)
