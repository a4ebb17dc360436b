import { issueApiToken } from '../../sessions/issue-session.ts'
import { refuseUnknownScopes } from '../../sessions/known-scopes.ts'
import { viewApiToken } from '../../sessions/session-view.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ListOptions, PrintOptions } from '../common/configuration-options.ts'
import { withIdentity } from '../common/identity-access.ts'
import { printJson, printTable } from '../common/print-lines.ts'

/** The options of `nodekeep token create`. */
export interface CreateTokenOptions extends ListOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly days: number | 'never'
}

/** `nodekeep token create` */
export async function createToken(
  { name, scope, days, json, ...options }: CreateTokenOptions,
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
    if (json === true) {
      printJson({ token, username, details: viewApiToken(record) }, process.stdout)
      return
    }
    process.stdout.write(`${token}\n`)
    process.stderr.write(
      `This is an API token of ${username} with the id ${record.id}. It is not shown again.\n`,
    )
  })
}

/** `nodekeep token scopes` */
export async function listScopes({ json, ...options }: PrintOptions, process: CommandProcess): Promise<void> {
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
