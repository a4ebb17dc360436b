import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { root } from '../run/command.ts'

/** The build of a package, as its package.json tells it. The kernel reads it (`kernel/src/system/node-info.ts`). */
export interface BuildStamp {
  /** The commit of the sources; `null` where they are no checkout. */
  readonly commit: string | null
  /** ISO 8601, in UTC. */
  readonly date: string
}

/**
 * Describes a build of the sources as they are now. The date is that of the commit, so that two builds of it are equal.
 * `SOURCE_DATE_EPOCH` sets another one (https://reproducible-builds.org/specs/source-date-epoch/).
 */
export async function buildStamp(environment = process.env): Promise<BuildStamp> {
  const { commit, seconds } = await headOf(root)
  const epoch = environment.SOURCE_DATE_EPOCH ?? seconds
  return { commit, date: (epoch === undefined ? new Date() : new Date(Number(epoch) * 1000)).toISOString() }
}

async function headOf(folder: string): Promise<{ commit: string | null; seconds?: string }> {
  try {
    const { stdout } = await promisify(execFile)('git', ['log', '-1', '--format=%H %ct'], { cwd: folder })
    const [commit = '', seconds = ''] = stdout.trim().split(' ')
    return { commit, seconds }
  } catch {
    return { commit: null }
  }
}
