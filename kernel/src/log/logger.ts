import { createRequire } from 'node:module'
import { messageOf } from '@nodekeep/plugin-sdk/supervision'
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import type { prettyFactory } from 'pino-pretty'
import { stackOf, withCauses } from '../errors/error-text.ts'
import type { LogFormat, LogLevel } from './levels.ts'
import { Secrets } from './secrets.ts'

/** Options of a logger. */
export interface LoggerOptions {
  /** Default: `info`. */
  readonly level?: LogLevel
  /** Default: `auto`. A destination does not count as a terminal. */
  readonly format?: LogFormat
  /** Takes finished lines. Default: standard output. */
  readonly destination?: DestinationStream
  /** Values that must not appear. More values may be added while the logger is in use. */
  readonly secrets?: Secrets
}

/**
 * Creates the node's logger. Secrets are removed from every part of a line, and the line is written before the call
 * returns, so that no line is lost when the process ends.
 *
 * Errors under the key `err` are written with their causes.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { level = 'info', format = 'auto', secrets = new Secrets() } = options
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

/** Converts JSON lines to text for people. The library is loaded only here, since few starts need it. */
function createPrettyPrinter(colors: boolean): (line: string) => string {
  const require = createRequire(import.meta.url)
  const pretty = require('pino-pretty') as { readonly prettyFactory: typeof prettyFactory }
  return pretty.prettyFactory({
    colorize: colors,
    ignore: 'plugin',
    messageFormat: '{if plugin}[{plugin}] {end}{msg}',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
  })
}

/**
 * Serializes an error with its causes. Pino's own serializer marks errors while it walks through them, so it throws for
 * errors that are frozen or whose properties throw. An error of a plugin must never break the code that reports it.
 */
function serializeError(thrown: unknown): unknown {
  try {
    return stdSerializers.err(thrown as Error)
  } catch {
    const [, ...causes] = withCauses(thrown)
    const stacks = [stackOf(thrown), ...causes.map((cause) => `caused by: ${stackOf(cause)}`)]
    return { type: 'Error', message: messageOf(thrown), stack: stacks.join('\n') }
  }
}
