import type { StopSignals } from '@nodekeep/plugin-sdk/supervision'
import { watchEventLoop } from '../../faults/event-loop-watch.ts'
import { createLogger } from '../../log/logger.ts'
import type { CommandProcess } from './command-process.ts'

/**
 * Watches the event loop while a command runs code of plugins, until the command ends. What is found is printed as an error.
 *
 * @param signals how the command stops and begins to listen for signals, if it does: they need an event loop that turns
 */
export function watchCommand(
  process: CommandProcess,
  signals?: Pick<StopSignals, 'ignore' | 'listen'>,
): void {
  const log = createLogger({ level: 'warn', format: 'pretty', destination: process.stderr })
  const watch = watchEventLoop({
    log,
    logSettings: { level: 'warn', format: 'pretty', fd: 2 },
    effect: 'so the command does not go on',
    onStandstill: () => signals?.ignore(),
    onEnd: () => signals?.listen(),
  })
  process.once('exit', () => watch.end())
}
