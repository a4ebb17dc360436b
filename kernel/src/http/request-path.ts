import type { FastifyRequest } from 'fastify'

/** A path parameter of this name is a secret, such as that of a link. */
const secretParameter = ':token'

/** A word as long as a secret, in a path that no route has: it may be the address of a link with a mistake in it. */
const longWords = /[\w-]{32,}/g

/** Returns the path of a request without its query, which may hold data that does not belong in a log. */
export function pathOf({ url }: Pick<FastifyRequest, 'url'>): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path
}

/** Returns the path of a request for the log: without its query, and with names in place of a secret, and of what may be one. */
export function loggedPathOf(request: Pick<FastifyRequest, 'url' | 'routeOptions'>): string {
  const path = pathOf(request)
  const { url } = request.routeOptions
  if (url === undefined) return path.replaceAll(longWords, ':long')
  const names = url.split('/')
  const at = names.indexOf(secretParameter)
  return at < 0 ? path : path.split('/').with(at, secretParameter).join('/')
}
