import type { TokenPresentation, Tokens } from '@nodekeep/plugin-sdk'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by the service `Tokens` for routes whose clients present tokens in a way of their own. */
    presentation?: TokenPresentation
  }
}

/**
 * The kernel's service `Tokens`. It only marks routes: the access check admits their requests, as those of all routes, so a plugin
 * never decides who a user is.
 */
export const tokenPresentations: Tokens = {
  accept(app, { read, challenge }) {
    const presentation: TokenPresentation = {
      challenge,
      // A request whose token cannot be read is one without a token.
      read(request) {
        try {
          const token: unknown = read(request)
          return typeof token === 'string' ? token : null
        } catch (err) {
          request.log.error({ err }, 'The plugin failed to find the token in a request.')
          return null
        }
      },
    }
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, presentation }
    })
  },
}
