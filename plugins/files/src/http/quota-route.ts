import {
  NodekeepError,
  parseByteSize,
  type RoutesApp,
  type UserDirectory,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { Quotas } from '../quota/quotas.ts'
import { newQuota, quotaParams, userQuota } from './schemas.ts'

export interface QuotaRouteServices {
  readonly users: Pick<UserDirectory, 'get'>
  readonly quotas: Quotas
}

/** Registers `PUT /api/files/quotas/:uuid`. */
export function quotaRoute(app: RoutesApp, { users, quotas }: QuotaRouteServices): void {
  const schema = {
    operationId: 'setQuota',
    summary: 'Set how much a user may store',
    params: quotaParams,
    body: newQuota,
    response: { 200: userQuota },
  }
  app.put('/api/files/quotas/:uuid', { schema, config: { access: 'owner' } }, async (request) => {
    const { uuid } = request.params
    const target = await users.get(uuid)
    if (target === null) throw new NodekeepError('NOT_FOUND', 'There is no such user.')
    const bytes = bytesOf(request.body.quota)
    if (bytes === undefined) await quotas.reset(uuid)
    else await quotas.set(uuid, bytes)
    const { username: user, uuid: userUuid } = userOf(request)
    const quota = quotas.of(uuid)
    request.log.info(
      {
        event: 'quota-set',
        ip: request.ip,
        user,
        userUuid,
        target: target.username,
        targetUuid: uuid,
        quota,
      },
      'The owner set the quota of a user.',
    )
    return { uuid, username: target.username, quota, hasOwnQuota: quotas.hasOwn(uuid) }
  })
}

/** The bytes of a quota; null for none, undefined for that of all users. */
function bytesOf(quota: number | string): number | null | undefined {
  if (typeof quota === 'number') return quota
  const text = quota.trim().toLowerCase()
  if (text === 'none') return null
  if (text === 'default') return undefined
  const bytes = parseByteSize(quota)
  if (bytes !== undefined && Number.isSafeInteger(bytes)) return bytes
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'The quota must be a size such as "50 GB", "none" for no limit, or "default" for the quota of all users.',
  )
}
