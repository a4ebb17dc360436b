import { type RoutesApp, Type, type UserDirectory, userOf } from '@nodekeep/plugin-sdk'
import { accountOf } from './code-provider.ts'
import type { SignInCodes } from './sign-in-codes.ts'

/** Codes that one client address may try per minute. */
const triesPerMinute = 20

const newCode = Type.Object({
  code: Type.String({
    description: 'Three groups of four digits and letters. It can be used for one sign-in.',
  }),
  expires: Type.String({
    format: 'date-time',
    description: 'When the code expires, by the clock of the node.',
  }),
  expiresIn: Type.Integer({ description: 'Seconds until the code expires, for clients with another clock.' }),
})

const account = Type.Object({
  uuid: Type.String({ description: 'The "uuid" of the credentials for `POST /auth/code`.' }),
  address: Type.String({ description: 'The "address" of the credentials.' }),
})

/** The routes that make a code, and that tell whose it is. */
export function codeRoutes(app: RoutesApp, codes: SignInCodes, users: UserDirectory): void {
  app.post(
    '/api/account/sign-in-codes',
    {
      // There is no scope: an API token must not become a session.
      schema: {
        operationId: 'createSignInCode',
        summary: 'Make a code to sign in at another device. It is shown only once',
        tags: ['account'],
        response: { 200: newCode },
      },
    },
    async (request, reply) => {
      const { uuid: userUuid, username: user } = userOf(request)
      const { code, expires, expiresIn } = codes.make(userUuid)
      request.log.info(
        { event: 'sign-in-code-created', ip: request.ip, user, userUuid, expires },
        'A user made a sign-in code.',
      )
      reply.header('cache-control', 'no-store')
      return { code, expires: expires.toISOString(), expiresIn }
    },
  )
  app.post(
    '/auth/code/account',
    {
      config: {
        access: 'public',
        publicReason: 'A client that signs in has no session yet. Tries are limited for each address.',
        rateLimit: { max: triesPerMinute, timeWindow: 60_000 },
      },
      schema: {
        operationId: 'findAccountOfSignInCode',
        summary: 'The account of a sign-in code, for a sign-in with it',
        tags: ['authentication'],
        body: Type.Object(
          { code: Type.String({ minLength: 1, maxLength: 100 }) },
          { additionalProperties: false },
        ),
        response: { 200: account },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { uuid, address } = await accountOf(request.body.code, codes, users)
      return { uuid, address }
    },
  )
}
