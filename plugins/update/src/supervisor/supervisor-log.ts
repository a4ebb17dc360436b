/** Writes the lines of the supervisor between those of the node. */
export interface SupervisorLog {
  info(text: string): void
  warn(text: string): void
  error(text: string): void
}

/**
 * Makes a log in the form of the node's log.
 *
 * @param format `log.format` of the configuration: `auto` is text on a terminal, otherwise JSON
 */
export function createSupervisorLog(format: string): SupervisorLog {
  const isText = format === 'pretty' || (format === 'auto' && process.stdout.isTTY)
  const line = (level: string) => (msg: string) => {
    const time = new Date().toISOString()
    const text = isText ? `[supervisor] ${msg}` : JSON.stringify({ level, time, msg })
    process.stdout.write(`${text}\n`)
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
