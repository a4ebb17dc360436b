import { NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { logSecurityEvent } from '../security-event.ts'
import type { BackupFolder } from '../stored/backup-folder.ts'
import { cancelRestore, planRestore } from './plan-restore.ts'
import { prepareRestore } from './prepare-restore.ts'
import { describeRestore, type RestoreServices, restoreAnswer, restoreChoices } from './restore-answer.ts'
import type { RestoreFolder } from './restore-folder.ts'

interface RestoreRouteServices extends RestoreServices {
  readonly backups: Pick<BackupFolder, 'find'>
}

const body = Type.Object(
  {
    filename: Type.Optional(Type.String({ description: 'A backup of `GET /api/backup/list`.' })),
    prepared: Type.Optional(
      Type.String({ description: 'A restore that an earlier call has prepared, instead of `filename`.' }),
    ),
    ...restoreChoices,
    confirm: Type.Boolean({
      description:
        'Whether to restore at the next start. Without it, the backup is prepared and compared only.',
    }),
    restart: Type.Boolean({ default: false, description: 'Whether to restart the node now.' }),
  },
  { additionalProperties: false },
)

/**
 * Registers `POST /restore`, which works in two steps if the client wants to ask a person in between, and `DELETE /restore`, which
 * takes the restore back.
 */
export function restoreRoutes(app: RoutesApp, services: RestoreRouteServices): void {
  const { folders, restores, control } = services
  const schema = {
    operationId: 'restoreBackup',
    summary: 'Verify a backup, compare it with the node, and restore it at the next start',
    body,
    response: { 200: restoreAnswer },
  }
  const config = { access: 'owner', scope: 'backup', answersLate: true } as const
  app.post('/restore', { schema, config }, async (request) => {
    const { body } = request
    if (body.restart && !control.supervised) {
      throw new NodekeepError(
        'CONFLICT',
        'Nothing would start the node again. Restore without "restart", then stop the node and start it yourself.',
      )
    }
    await services.finished
    using _lock = folders.lock()
    const folder = await prepared(services, body).catch((error) => {
      throw services.signal.aborted ? stopping() : error
    })
    const replaces = body.confirm ? await planRestore(folder, folders, restores) : null
    if (body.confirm)
      logSecurityEvent(request, 'restore-planned', 'The next start restores a backup.', {
        filename: folder.record.backup,
      })
    const answer = describeRestore(folder, {
      planned: body.confirm,
      replaces,
      supervised: control.supervised,
    })
    if (body.confirm && body.restart) control.restart(`The backup ${folder.record.backup} is restored.`)
    return answer
  })

  const remove = {
    operationId: 'cancelRestore',
    summary: 'Take back a restore that the next start would apply, or that is only prepared',
    response: {
      200: Type.Object({
        success: Type.Boolean(),
        backup: Type.String({ description: 'The backup that is not restored.' }),
      }),
    },
  }
  app.delete(
    '/restore',
    { schema: remove, config: { access: 'owner', scope: 'backup' } },
    async (request) => {
      await services.finished
      using _lock = folders.lock()
      const backup = await cancelRestore(folders, restores)
      logSecurityEvent(request, 'restore-canceled', 'A restore was taken back.', { filename: backup })
      return { success: true, backup }
    },
  )
}

/** The error of a restore that the stop of the node has ended. */
export function stopping(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The node stops. Restore the backup when it runs again.')
}

interface Asked {
  readonly filename?: string
  readonly prepared?: string
  readonly key?: string
  readonly newIdentity: boolean
  readonly without: string[]
}

async function prepared(
  { dataFolder, backups, folders, restores, backends, signal }: RestoreRouteServices,
  { filename, prepared, key, newIdentity, without }: Asked,
): Promise<RestoreFolder> {
  if ((filename === undefined) === (prepared === undefined)) {
    throw new NodekeepError('VALIDATION_ERROR', 'Send either "filename" or "prepared".')
  }
  if (prepared !== undefined) {
    const folder = await folders.ready(prepared)
    if (folder !== null) return folder
    throw new NodekeepError('NOT_FOUND', 'There is no prepared restore with this name. Prepare it again.')
  }
  const file = await backups.find(filename ?? '')
  const identities = key === undefined ? [] : [key]
  const hasBackend = (name: string) => backends.has(name)
  return prepareRestore(
    { dataFolder, folders, restores, hasBackend },
    { file, identities, newIdentity, without, signal },
  )
}
