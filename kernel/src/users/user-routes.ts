import { type RoutesApp, type Static, Type, usernamePattern } from '@nodekeep/plugin-sdk'
import { logSecurityEvent } from '../log/security-events.ts'
import { apiTokenView, sessionView, timestamp, viewApiToken, viewSession } from '../sessions/session-view.ts'
import type { UserSessions } from '../sessions/user-sessions.ts'
import type { UserAccount, UserAccounts } from './user-accounts.ts'
import type { UserAdministration } from './user-administration.ts'

const config = { access: 'owner' } as const
const tags = ['users']
const byUuid = Type.Object({ uuid: Type.String() })
const success = Type.Object({ success: Type.Literal(true) })

const account = Type.Object({
  uuid: Type.String(),
  username: Type.String(),
  wallet: Type.String(),
  owner: Type.Boolean(),
  created: timestamp,
  added: Type.Union([timestamp, Type.Null()], {
    description: 'When the user was added by hand. Such a user may sign in whatever `auth.admission` says.',
  }),
  disabled: Type.Union([timestamp, Type.Null()]),
  deletionDue: Type.Union([timestamp, Type.Null()], {
    description: 'When the data of the deleted user is removed.',
  }),
})

const listedAccount = Type.Object({
  ...account.properties,
  lastSeen: Type.Union([timestamp, Type.Null()], {
    description:
      'The last sign-in, or the last use of a session or API token that has not ended, to the minute. Null for a user who never came.',
  }),
})

const addition = Type.Object(
  {
    wallet: Type.String({ description: '`0x` and 40 hexadecimal digits.' }),
    username: Type.Optional(
      Type.String({ pattern: usernamePattern, description: 'The name of a new user.' }),
    ),
  },
  { additionalProperties: false },
)

const change = Type.Object(
  {
    username: Type.Optional(Type.String({ pattern: usernamePattern })),
    disabled: Type.Optional(Type.Boolean({ description: '`false` also cancels a deletion.' })),
  },
  { additionalProperties: false, minProperties: 1 },
)

/** The routes `/api/users`, for the owner: list, add, rename, disable and delete users, and end their sessions. */
export function userRoutes(
  app: RoutesApp,
  accounts: UserAccounts,
  userSessions: UserSessions,
  administration: UserAdministration,
): void {
  const one = { response: { 200: Type.Object({ user: account }) }, params: byUuid, tags }

  app.get(
    '/api/users',
    {
      config,
      schema: {
        operationId: 'listUsers',
        summary: 'All users',
        tags,
        response: { 200: Type.Object({ users: Type.Array(listedAccount) }) },
      },
    },
    async () => {
      const lastSeen = await accounts.lastSeen()
      const users: Static<typeof listedAccount>[] = []
      for await (const user of accounts.list())
        users.push({ ...viewAccount(user), lastSeen: lastSeen.get(user.uuid)?.toISOString() ?? null })
      return { users }
    },
  )
  app.post(
    '/api/users',
    {
      config,
      schema: {
        operationId: 'addUser',
        summary: 'Add a user, who may then sign in. A wallet that has a user keeps that user, under its name',
        tags,
        body: addition,
        response: { 200: Type.Object({ user: account }) },
      },
    },
    async (request) => {
      const { wallet, username } = request.body
      const added = await administration.add(wallet, username)
      const details = { target: added.username, targetUuid: added.uuid, wallet: added.wallet }
      logSecurityEvent(request, 'user-added', 'The owner added a user.', details)
      return { user: viewAccount(added) }
    },
  )
  app.get(
    '/api/users/:uuid',
    { config, schema: { ...one, operationId: 'getUser', summary: 'One user' } },
    async ({ params }) => ({
      user: viewAccount(await administration.get(params.uuid)),
    }),
  )
  app.patch(
    '/api/users/:uuid',
    {
      config,
      schema: {
        ...one,
        operationId: 'changeUser',
        summary: 'Rename, disable or enable a user',
        body: change,
      },
    },
    async (request) => {
      const changed = await administration.update(request.params.uuid, request.body)
      const details = { target: changed.username, targetUuid: changed.uuid, change: request.body }
      logSecurityEvent(request, 'user-changed', 'The owner changed a user.', details)
      return { user: viewAccount(changed) }
    },
  )
  app.delete(
    '/api/users/:uuid',
    {
      config,
      schema: {
        ...one,
        operationId: 'deleteUser',
        summary: 'Delete a user. The data is removed after the grace period',
      },
    },
    async (request) => {
      const deleted = await administration.delete(request.params.uuid)
      const details = { target: deleted.username, targetUuid: deleted.uuid }
      logSecurityEvent(request, 'user-deleted', 'The owner deleted a user.', details)
      return { user: viewAccount(deleted) }
    },
  )
  app.get(
    '/api/users/:uuid/sessions',
    {
      config,
      schema: {
        operationId: 'listUserSessions',
        summary: 'The sessions and API tokens of a user',
        tags,
        params: byUuid,
        response: {
          200: Type.Object({ sessions: Type.Array(sessionView), tokens: Type.Array(apiTokenView) }),
        },
      },
    },
    async ({ params, user }) => {
      const { uuid } = await administration.get(params.uuid)
      const records = await userSessions.live(uuid)
      return {
        sessions: records
          .filter(({ kind }) => kind === 'session')
          .map((record) => viewSession(record, user?.sessionId ?? null)),
        tokens: records.filter(({ kind }) => kind === 'api-token').map(viewApiToken),
      }
    },
  )
  app.delete(
    '/api/users/:uuid/sessions',
    {
      config,
      schema: {
        operationId: 'endUserSessions',
        summary: 'End all sessions and API tokens of a user',
        tags,
        params: byUuid,
        response: { 200: success },
      },
    },
    async (request) => {
      const { uuid, username } = await administration.get(request.params.uuid)
      await userSessions.endAll(uuid)
      const details = { target: username, targetUuid: uuid }
      logSecurityEvent(
        request,
        'session-ended',
        'The owner ended all sessions and tokens of a user.',
        details,
      )
      return { success: true as const }
    },
  )
  app.delete(
    '/api/users/:uuid/sessions/:id',
    {
      config,
      schema: {
        operationId: 'endUserSession',
        summary: 'End one session or API token of a user',
        tags,
        params: Type.Object({ uuid: Type.String(), id: Type.String() }),
        response: { 200: success },
      },
    },
    async (request) => {
      const { uuid, id } = request.params
      await userSessions.end(uuid, id)
      const details = { targetUuid: uuid, session: id }
      logSecurityEvent(request, 'session-ended', 'The owner ended a session or token of a user.', details)
      return { success: true as const }
    },
  )
}

function viewAccount(user: UserAccount): Static<typeof account> {
  const { uuid, username, wallet, owner, createdAt, addedAt, disabledAt, deletionDue } = user
  return {
    uuid,
    username,
    wallet,
    owner,
    created: createdAt.toISOString(),
    added: addedAt?.toISOString() ?? null,
    disabled: disabledAt?.toISOString() ?? null,
    deletionDue: deletionDue?.toISOString() ?? null,
  }
}
