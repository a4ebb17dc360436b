/** Severities of log lines, from everything to nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
/** The least severity that is logged. */
export type LogLevel = (typeof logLevels)[number]

/** Forms of log lines: text for people, JSON for programs, or `auto`: text on a terminal, JSON elsewhere. */
export const logFormats = ['auto', 'pretty', 'json'] as const
/** The form of log lines. */
export type LogFormat = (typeof logFormats)[number]
