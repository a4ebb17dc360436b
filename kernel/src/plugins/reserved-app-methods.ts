import type { FastifyInstance } from 'fastify'

const oneForm =
  'Errors have one form on the whole node. Throw a NodekeepError, or give routes() a "serializeError" to speak a foreign protocol.'

const reserved = {
  setErrorHandler: oneForm,
  setNotFoundHandler: `It would never be called: the node answers what no route is there for. ${oneForm}`,
  listen: 'The node listens and hands requests on. Only register routes.',
} as const

/**
 * Makes methods of a plugin's Fastify instance throw: those that would change the node's form of errors, and those that
 * would never work. Nested instances inherit that.
 */
export function reserveAppMethods(instance: FastifyInstance): void {
  for (const [method, instead] of Object.entries(reserved)) {
    Object.defineProperty(instance, method, {
      value: () => {
        throw new Error(`A plugin must not call app.${method}(). ${instead}`)
      },
    })
  }
  instance.addHook('onRoute', ({ method, url, errorHandler }) => {
    if (errorHandler === undefined) return
    throw new Error(`The route ${[method].flat().join(', ')} ${url} has an "errorHandler". ${oneForm}`)
  })
}
