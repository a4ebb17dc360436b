import type { ReleaseChanges } from './release-changes.ts'
import { type ReleaseFolder, readManifest } from './release-folder.ts'
import type { SupervisorLog } from './supervisor-log.ts'
import { type Change, lastFailureOf, readHistory } from './supervisor-state.ts'

/**
 * Begins the change to the release that a person has unpacked and started, if it is newer than the one in use. A release that has not
 * worked here before is left alone: a service starts it at each boot.
 *
 * @param release its absolute path
 * @param options.again whether a release is tried again that has not worked here
 * @returns `null` if the release in use stays
 */
export async function changeToOther(
  release: string,
  folder: ReleaseFolder,
  changes: ReleaseChanges,
  log: SupervisorLog,
  { again }: { readonly again: boolean },
): Promise<Change | null> {
  const [{ version: other }, { version: current }] = [readManifest(release), readManifest(folder.inUse())]
  if (other === current) return null
  // A supervisor, which stays for years, rarely needs it.
  const { default: gt } = await import('semver/functions/gt.js')
  if (!gt(other, current)) {
    log.info(`Version ${current} runs, since it is newer than version ${other}, which was started.`)
    return null
  }
  const left = lastFailureOf(other, readHistory(folder.path))
  if (left !== undefined && !again) {
    log.warn(
      `Version ${current} runs, since version ${other} was left here before: ${left.reason} To try it again, add --again.`,
    )
    return null
  }
  return changes.beginAt(release)
}
