import { issueApiToken } from '../../sessions/issue-session.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { withIdentity } from '../common/identity-access.ts'
import { printLines } from '../common/print-lines.ts'

/** The options of `nodekeep token …`. */
export interface TokenOptions extends ConfigurationOptions {
  readonly user?: string
}

/** The options of `nodekeep token create`. */
export interface CreateTokenOptions extends TokenOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly days: number | 'never'
}

/** `nodekeep token create` */
export async function createToken({ name, scope, days, ...options }: CreateTokenOptions): Promise<void> {
  await withIdentity(options, async ({ sessions, find, refuseLockedOut }) => {
    const user = await find(options.user)
    refuseLockedOut(user)
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

/** `nodekeep token list` */
export async function listTokens(options: TokenOptions): Promise<void> {
  await withIdentity(options, async ({ userSessions, find }) => {
    const { uuid } = await find(options.user)
    const tokens = (await userSessions.live(uuid)).filter(({ kind }) => kind === 'api-token')
    const lines = tokens.map(({ id, label, scopes, expiresAt }) =>
      [id, label, scopes?.join(','), expiresAt?.toISOString() ?? 'never expires'].join('  '),
    )
    printLines(lines.length === 0 ? ['There are no API tokens.'] : lines)
  })
}

/** `nodekeep token revoke` */
export async function revokeToken(id: string, options: TokenOptions): Promise<void> {
  await withIdentity(options, async ({ userSessions, find }) => {
    const { uuid } = await find(options.user)
    await userSessions.end(uuid, id, 'api-token')
    process.stdout.write('The token is revoked. A running node refuses it within 5 seconds.\n')
  })
}
