import { PassThrough, Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

/** The result of a command. */
export interface CommandOutcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Options of a command. */
export interface CommandOptions {
  /** The working directory. */
  readonly cwd: string
  /** All variables of the command; by default none. */
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Runs `nodekeep` with arguments in this process, without a terminal. `start`, `supervise` and `service` need a process of their
 * own, and so do tests about signals.
 *
 * @example
 * const { code, stdout } = await runCommand(['config', 'check'], { cwd: folder })
 */
export async function runCommand(
  args: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<CommandOutcome> {
  const { run } = await import('../cli/program.ts')
  const written = { stdout: '', stderr: '' }
  const capture = (name: keyof typeof written) =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        written[name] += text
        done()
      },
    })
  const atExit: (() => void)[] = []
  const process = {
    stdin: new PassThrough().end(),
    stdout: capture('stdout'),
    stderr: capture('stderr'),
    env,
    exitCode: 0,
    cwd: () => cwd,
    once: (event: string, listener: () => void) => event === 'exit' && atExit.push(listener),
    off: () => {},
  }
  await run(args, [], process)
  // Node reports an unhandled rejection one turn later.
  await setImmediate()
  for (const listener of atExit) listener()
  return { code: process.exitCode, ...written }
}
