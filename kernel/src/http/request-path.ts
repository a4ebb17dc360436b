import type { FastifyRequest } from 'fastify'

/** Returns the path of a request without its query, which may hold data that does not belong in a log. */
export function pathOf({ url }: Pick<FastifyRequest, 'url'>): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path
}
