import type { FileResult } from './count-tests.ts'
import type { TestGroup } from './test-group.ts'

/** The result of one run of a group. */
export interface GroupRun {
  /** One for each file. */
  readonly results: readonly FileResult[]
  /** The failures as text for people; empty if there are none. */
  readonly failures: string
}

/** Groups that may fail and run again. More failures than these have a cause of their own. */
const maxAgain = 3

/**
 * Runs groups of test files, some at the same time. A group that fails beside others runs again by itself when the others
 * have ended. The second result counts.
 *
 * @param jobs the number of groups that run at the same time
 * @param run runs one group
 * @returns the run of each group that counts, and the failures of those that failed only beside others
 */
export async function runGroups(
  groups: readonly TestGroup[],
  jobs: number,
  run: (group: TestGroup) => Promise<GroupRun>,
): Promise<{ readonly runs: readonly GroupRun[]; readonly flaky: readonly string[] }> {
  const runs = new Map<TestGroup, GroupRun>()
  const waiting = groups.values()
  const work = async () => {
    for (const group of waiting) runs.set(group, await run(group))
  }
  await Promise.all(Array.from({ length: jobs }, work))

  const flaky: string[] = []
  const failed = [...runs].filter(([, { results }]) => results.some(({ ok }) => !ok))
  if (failed.length <= maxAgain && failed.length < groups.length) {
    for (const [group, { failures }] of failed) {
      const again = await run(group)
      runs.set(group, again)
      if (again.results.every(({ ok }) => ok)) flaky.push(failures)
    }
  }
  return { runs: [...runs.values()], flaky }
}
