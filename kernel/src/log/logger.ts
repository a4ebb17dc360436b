import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { serializeError } from './error-serializer.ts'
import type { LogFormat, LogLevel } from './levels.ts'
import { createPrettyPrinter } from './pretty.ts'
import { createSecrets, type Secrets } from './secrets.ts'

/** How to log. */
export interface LoggerOptions {
  /** `info` unless it is given. */
  readonly level?: LogLevel
  /** `auto` unless it is given; a destination counts as no terminal. */
  readonly format?: LogFormat
  /** Where finished lines go; standard output unless it is given. */
  readonly destination?: DestinationStream
  /** What must not appear. Values may be added while the logger lives. */
  readonly secrets?: Secrets
}

/**
 * The node's logger. Every line is free of secrets when it leaves, whatever part of it they were in, and is
 * written before the call returns, so that nothing is lost when the process ends.
 *
 * Errors under the key `err` are written with their causes.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { level = 'info', format = 'auto', secrets = createSecrets() } = options
  const terminal = options.destination === undefined && process.stdout.isTTY === true
  const destination = options.destination ?? pino.destination({ fd: 1, sync: true })
  const print =
    format === 'pretty' || (format === 'auto' && terminal)
      ? createPrettyPrinter(terminal && process.stdout.hasColors())
      : (line: string) => line

  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
    },
    { write: (line) => destination.write(print(secrets.scrub(line))) },
  )
}
