import type { FastifyBaseLogger } from 'fastify'

/** The arguments of a line of the log: an object, a text, or both. */
type Line = Parameters<FastifyBaseLogger['info']>

/**
 * The logger of a request, which names the request in each line. It makes its child of the parent with the first line: to make one
 * takes 1.5 % of the CPU time of a read of 1 KiB, and most requests write no line.
 */
export class RequestLog implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger
  readonly #reqId: string
  #child: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, reqId: string) {
    this.#parent = parent
    this.#reqId = reqId
  }

  get level(): string {
    return this.#parent.level
  }

  child(...given: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#log.child(...given)
  }

  fatal(...line: Line): void {
    this.#log.fatal(...line)
  }

  error(...line: Line): void {
    this.#log.error(...line)
  }

  warn(...line: Line): void {
    this.#log.warn(...line)
  }

  info(...line: Line): void {
    this.#log.info(...line)
  }

  debug(...line: Line): void {
    this.#log.debug(...line)
  }

  trace(...line: Line): void {
    this.#log.trace(...line)
  }

  silent(...line: Line): void {
    this.#log.silent(...line)
  }

  get #log(): FastifyBaseLogger {
    this.#child ??= this.#parent.child({ reqId: this.#reqId })
    return this.#child
  }
}
