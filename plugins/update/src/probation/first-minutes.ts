import type { Log, NodeReleases } from '@nodekeep/plugin-sdk'
import type { RecordFile } from '../state/update-record.ts'
import { watchVersion } from './probation.ts'
import type { Probe } from './probes.ts'

interface FirstMinutesParts {
  /** The version that runs. */
  readonly current: string
  /** The probes of the parts that the node has now. */
  readonly probes: () => readonly Probe[]
  readonly file: RecordFile
  readonly releases: Pick<NodeReleases, 'goBack' | 'wayBackProblems'>
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
  readonly lastsMs?: number
  readonly everyMs?: number
}

/** The length of a probation, in milliseconds. */
export const probationMs = 5 * 60_000

/**
 * Watches a new version in its first minutes after clients have reached it. If it does not do what the former version could, the node goes
 * back, unless the former version would refuse the configuration. A restart in between does not begin the time anew.
 *
 * @throws NodekeepError CONFLICT if there is no way back; the signal's reason
 */
export async function firstMinutes(parts: FirstMinutesParts): Promise<void> {
  const { current, file, releases, log, lastsMs = probationMs } = parts
  const { handed } = file.record
  if (handed === null) return
  const sinceMs = Date.now() - Date.parse(handed.servedAt ?? new Date().toISOString())
  // The clock may have been set meanwhile.
  const leftMs = Math.min(Math.max(lastsMs - sinceMs, 0), lastsMs)
  const problem = await watchVersion(handed.passed, leftMs, parts)
  if (problem === null) {
    await file.change({ handed: null, outcome: `Version ${current} is installed.` })
    log.info({ event: 'update-passed', version: current }, 'The new version works.')
    return
  }
  const sentence = `Version ${current} did not work in its first minutes. ${problem}`
  // A version that works in part is better than one that does not start.
  const hindrances = await releases.wayBackProblems()
  if (hindrances.length > 0) {
    const reason = `It stays, since the version before could not start with the configuration as it is now. ${hindrances.join(' ')}`
    log.error({ version: current, problem, hindrances }, 'The configuration keeps the node from going back.')
    await file.change({ handed: null, outcome: `${sentence} ${reason}` })
    return
  }
  log.error({ event: 'update-back', version: current, problem }, 'The new version does not work.')
  await file.change({ handed: null, outcome: sentence })
  await releases.goBack(sentence)
}
