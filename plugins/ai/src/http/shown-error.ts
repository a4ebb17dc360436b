import { type ErrorBody, errorStatus, isNodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'

/** An error as a client may see it within an answer that has begun. What is not the client's fault is logged. */
export function shownError(error: unknown, { id, log }: FastifyRequest): Pick<ErrorBody, 'message' | 'code'> {
  const known = isNodekeepError(error) && Object.hasOwn(errorStatus, error.code)
  const { message, code } = known
    ? error
    : {
        message: `Something went wrong on the node. Its log has the details under the request id ${id}.`,
        code: 'INTERNAL_ERROR' as const,
      }
  if (errorStatus[code] >= 500) log.error({ err: error, path: '/api/ai/chat' }, message)
  return { message, code }
}
