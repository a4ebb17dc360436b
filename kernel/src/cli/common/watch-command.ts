import { watchEventLoop } from '../../faults/event-loop-watch.ts'
import { createLogger } from '../../log/logger.ts'
import type { CommandProcess } from './command-process.ts'

/** The signals that a command can take itself. They need an event loop that turns. */
interface Signals {
  ignore(): void
  listen(): void
}

/** Watches the event loop while a command runs code of plugins, until the command ends. What is found is printed as an error. */
export function watchCommand(process: CommandProcess, signals?: Signals): void {
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
