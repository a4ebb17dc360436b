import { definePlugin, LoginProviders, SessionsEnded, Type, UserDirectory } from '@nodekeep/plugin-sdk'
import { CodeProvider } from './code-provider.ts'
import { codeRoutes } from './routes.ts'
import { SignInCodes } from './sign-in-codes.ts'

/** Contributes the login provider `code`: users make one-time codes, and sign in with them at another device. */
export default definePlugin({
  id: 'login-code',
  description: 'You sign in at another device with a short code.',
  config: Type.Object({
    codeTtlSeconds: Type.Integer({
      default: 300,
      minimum: 30,
      maximum: 3600,
      description: 'How long a code can be used, in seconds.',
    }),
  }),
  requires: { users: UserDirectory },
  contributes: { providers: LoginProviders },
  setup({ config, users, providers, events, routes }) {
    const codes = new SignInCodes(config.codeTtlSeconds * 1000)
    // The session that made a code may be the one that ended.
    events.on(SessionsEnded, ({ userUuid }) => codes.endOf(userUuid))
    providers.add('code', new CodeProvider(codes, users))
    routes((app) => codeRoutes(app, codes, users))
  },
})
