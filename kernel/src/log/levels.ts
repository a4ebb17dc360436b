/** From everything to nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
/** The least severity that is logged. */
export type LogLevel = (typeof logLevels)[number]

/** The form of log lines: for people, for programs, or by where they go: text on a terminal, JSON lines elsewhere. */
export type LogFormat = 'auto' | 'pretty' | 'json'
