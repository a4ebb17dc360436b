import type { FastifyRequest } from 'fastify'

/** A path parameter of this name is a secret, such as that of a link. */
const secretParameter = ':token'

/** Returns the path of a request without its query, which may hold data that does not belong in a log. */
export function pathOf({ url }: Pick<FastifyRequest, 'url'>): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path
}

/** Returns the path of a request for the log: without its query, and with the name of a secret parameter in place of the secret. */
export function loggedPathOf(request: Pick<FastifyRequest, 'url' | 'routeOptions'>): string {
  const path = pathOf(request)
  const names = request.routeOptions.url?.split('/') ?? []
  const at = names.indexOf(secretParameter)
  return at < 0 ? path : path.split('/').with(at, secretParameter).join('/')
}
