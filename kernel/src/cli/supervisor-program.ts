import { runSupervisor } from './actions/supervise.ts'
import { limitYoungGeneration } from './common/young-generation.ts'

/**
 * Runs the supervisor, without what only other commands need: it takes half of the memory of the command line.
 *
 * @param args without the names of the runtime and the script
 */
export async function run([, ...args]: readonly string[]): Promise<void> {
  limitYoungGeneration()
  try {
    process.exit(await runSupervisor(args))
  } catch (error) {
    const { fail } = await import('./common/fail.ts')
    fail(error, args.includes('--verbose'))
  }
}
