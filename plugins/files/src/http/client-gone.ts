import type { FastifyReply } from 'fastify'

/** A signal that is aborted when the client goes before it has its answer. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(new Error('The client left.'))
  })
  return controller.signal
}
