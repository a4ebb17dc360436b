import { createRequire } from 'node:module'
import type { prettyFactory } from 'pino-pretty'

/**
 * Turns a JSON line into text for people. The library is loaded here and not before, since few starts need it.
 *
 * @param colors whether the reader understands terminal colors
 */
export function createPrettyPrinter(colors: boolean): (line: string) => string {
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
