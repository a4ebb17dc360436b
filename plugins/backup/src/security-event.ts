import type { userOf } from '@nodekeep/plugin-sdk'

type Request = Parameters<typeof userOf>[0] & {
  readonly ip: string
  readonly log: { info(fields: object, message: string): void }
}

/**
 * Logs a security event at the level `info`, with the address of the client, and with the user if somebody is signed in. SECURITY.md lists
 * the events.
 *
 * @param details further fields, such as the name of the backup
 */
export function logSecurityEvent(
  request: Request,
  event:
    | 'backup-downloaded'
    | 'backup-deleted'
    | 'backup-searched'
    | 'backup-lent'
    | 'file-put-back'
    | 'backup-uploaded'
    | 'restore-planned'
    | 'restore-canceled',
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): void {
  const { user, ip } = request
  const who = user === null ? {} : { user: user.username, userUuid: user.uuid }
  request.log.info({ event, ip, ...who, ...details }, message)
}
