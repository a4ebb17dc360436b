import { NodekeepError } from '@nodekeep/plugin-sdk'
import { issueApiToken } from '../../sessions/issue-session.ts'
import { refuseUnknownScopes } from '../../sessions/known-scopes.ts'
import { viewApiToken } from '../../sessions/session-view.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { withIdentity } from '../common/identity-access.ts'
import { printJson, printTable } from '../common/print-lines.ts'
import type { UserOptions } from '../common/user-option.ts'

/** The options of `nodekeep token list`. */
export interface ListTokensOptions extends UserOptions {
  readonly json?: boolean
}

/** The options of `nodekeep token scopes`. */
export interface ListScopesOptions extends ConfigurationOptions {
  readonly json?: boolean
}

/** The options of `nodekeep token create`. */
export interface CreateTokenOptions extends UserOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly days: number | 'never'
}

/** `nodekeep token create` */
export async function createToken(
  { name, scope, days, ...options }: CreateTokenOptions,
  process: CommandProcess,
): Promise<void> {
  await withIdentity(options, process, async ({ sessions, find, refuseLockedOut, knownScopes }) => {
    const user = await find(options.user)
    refuseLockedOut(user)
    refuseUnknownScopes(scope, await knownScopes())
    const { uuid, username } = user
    const expiryDays = days === 'never' ? null : days
    const { token, record } = await issueApiToken(sessions, {
      userUuid: uuid,
      name,
      scopes: [...new Set(scope)],
      expiryDays,
    })
    process.stdout.write(`${token}\n`)
    process.stderr.write(
      `This is an API token of ${username} with the id ${record.id}. It is not shown again.\n`,
    )
  })
}

/** `nodekeep token scopes` */
export async function listScopes(
  { json, ...options }: ListScopesOptions,
  process: CommandProcess,
): Promise<void> {
  await withIdentity(options, process, async ({ knownScopes }) => {
    const scopes = await knownScopes()
    if (json === true) printJson(scopes, process.stdout)
    else
      printTable(
        scopes.map((scope) => ({ scope })),
        'No route of this node asks for a scope.',
        process.stdout,
      )
  })
}

/** `nodekeep token list` */
export async function listTokens(options: ListTokensOptions, process: CommandProcess): Promise<void> {
  await withIdentity(options, process, async ({ userSessions, find }) => {
    const { uuid } = await find(options.user)
    const tokens = (await userSessions.live(uuid)).filter(({ kind }) => kind === 'api-token')
    const views = tokens.map(viewApiToken)
    if (options.json === true) {
      printJson(views, process.stdout)
      return
    }
    const rows = views.map(({ id, name, scopes, lastUsed, expires }) => ({
      id,
      name,
      scopes: scopes.join(','),
      'last used': lastUsed,
      expires: expires ?? 'never',
    }))
    printTable(rows, 'There are no API tokens.', process.stdout)
  })
}

/** `nodekeep token revoke` */
export async function revokeToken(id: string, options: UserOptions, process: CommandProcess): Promise<void> {
  await withIdentity(options, process, async ({ userSessions, find }) => {
    const { uuid, username } = await find(options.user)
    if (!(await userSessions.endIfPresent(uuid, id, 'api-token'))) {
      throw new NodekeepError(
        'NOT_FOUND',
        `${username} has no API token with the id "${id}". "nodekeep token list --user ${username}" shows the tokens.`,
      )
    }
    process.stdout.write('The token is revoked. A running node refuses it within 5 seconds.\n')
  })
}
