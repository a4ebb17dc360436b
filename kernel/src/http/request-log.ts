import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

/**
 * What Fastify logs by itself, without whole requests and answers in it: those carry what doesn't belong into a log.
 * The platform's hooks log requests.
 */
export class RequestLog extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(error: Error, _request: FastifyRequest, reply: FastifyReply): void {
    const left = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE'
    if (left) reply.log.debug('The client left before the answer ended.')
    else reply.log.error({ err: error }, 'The answer broke off: what it is read from failed.')
  }
}
