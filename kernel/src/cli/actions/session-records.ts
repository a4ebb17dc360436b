import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { SessionRecord } from '../../sessions/session-table.ts'
import { viewApiToken, viewSession } from '../../sessions/session-view.ts'
import { kindName } from '../../sessions/user-sessions.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ListOptions, UserOptions } from '../common/configuration-options.ts'
import { withIdentity } from '../common/identity-access.ts'
import { printJson, printTable } from '../common/print-lines.ts'

/** `nodekeep session list` and `nodekeep token list` */
export async function listRecords(
  kind: SessionRecord['kind'],
  { user, json, ...options }: ListOptions,
  process: CommandProcess,
): Promise<void> {
  await withIdentity(options, process, async ({ userSessions, find }) => {
    const { uuid } = await find(user)
    const records = await userSessions.live(uuid, kind)
    const views = kind === 'session' ? records.map(viewOfSession) : records.map(viewApiToken)
    if (json === true) printJson(views, process.stdout)
    else
      printTable(
        views.map((view) => tableRow(view)),
        `There are no ${kindName(kind)}s.`,
        process.stdout,
      )
  })
}

/** A session as commands print it. No session belongs to the command line itself. */
export function viewOfSession(record: SessionRecord) {
  const { current, ...view } = viewSession(record, null)
  return view
}

function tableRow(view: ReturnType<typeof viewOfSession | typeof viewApiToken>): Record<string, string> {
  return {
    id: view.id,
    ...('label' in view
      ? { program: view.label, created: view.created }
      : { name: view.name, scopes: view.scopes.join(',') }),
    'last used': view.lastUsed ?? 'never',
    expires: view.expires ?? 'never',
  }
}

/** `nodekeep session revoke` and `nodekeep token revoke` */
export async function revokeRecord(
  kind: SessionRecord['kind'],
  id: string,
  { user, ...options }: UserOptions,
  process: CommandProcess,
): Promise<void> {
  const command = kind === 'session' ? 'session' : 'token'
  await withIdentity(options, process, async ({ userSessions, find }) => {
    const { uuid, username } = await find(user)
    if (!(await userSessions.endIfPresent(uuid, id, kind))) {
      throw new NodekeepError(
        'NOT_FOUND',
        `${username} has no ${kindName(kind)} with the id "${id}". "nodekeep ${command} list --user ${username}" shows the ${command}s.`,
      )
    }
    process.stdout.write(`The ${command} is revoked. A running node refuses it within 5 seconds.\n`)
  })
}
