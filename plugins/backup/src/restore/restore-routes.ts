import {
  NodekeepError,
  type NodeRestart,
  type NodeRestores,
  type RegistryReader,
  type RoutesApp,
  type StorageBackend,
  Type,
} from '@nodekeep/plugin-sdk'
import { logSecurityEvent } from '../security-event.ts'
import type { BackupFolder } from '../stored/backup-folder.ts'
import { maxListed } from './differences.ts'
import { cancelRestore, planRestore } from './plan-restore.ts'
import { prepareRestore } from './prepare-restore.ts'
import type { RestoreFolder, RestoreFolders } from './restore-folder.ts'

interface RestoreRouteServices {
  readonly dataFolder: string
  readonly backups: Pick<BackupFolder, 'find'>
  readonly folders: RestoreFolders
  readonly restores: NodeRestores
  readonly backends: RegistryReader<StorageBackend>
  readonly control: NodeRestart
  /** Resolves when the restore that the start has applied is finished. */
  readonly finished: Promise<void>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

const name = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const user = Type.Object({
  username: Type.String(),
  wallet: Type.String({ description: 'The wallet with which the user signs in.' }),
})
const owner = (description: string) => Type.Union([user, Type.Null()], { description })
const excerpt = <Item extends Type.TSchema>(item: Item, description: string) =>
  Type.Object({ count: Type.Integer(), first: Type.Array(item, { maxItems: maxListed }) }, { description })

const body = Type.Object(
  {
    filename: Type.Optional(Type.String({ description: 'A backup of `GET /api/backup/list`.' })),
    prepared: Type.Optional(
      Type.String({ description: 'A restore that an earlier call has prepared, instead of `filename`.' }),
    ),
    key: Type.Optional(
      Type.String({
        maxLength: 10_000,
        description: 'The secret half of a recovery key, for an encrypted backup.',
      }),
    ),
    newIdentity: Type.Boolean({
      default: false,
      description: 'Whether the node gets a new identity, and not that of the backup.',
    }),
    without: Type.Array(Type.String(), {
      default: [],
      maxItems: 100,
      description: 'Storages of the backup whose files are not restored.',
    }),
    confirm: Type.Boolean({
      description:
        'Whether to restore at the next start. Without it, the backup is prepared and compared only.',
    }),
    restart: Type.Boolean({ default: false, description: 'Whether to restart the node now.' }),
  },
  { additionalProperties: false },
)

const answer = Type.Object({
  success: Type.Boolean(),
  prepared: Type.String({ description: 'The name of the prepared restore.' }),
  planned: Type.Boolean({ description: 'Whether the next start of the node applies it.' }),
  replaces: name('The backup whose restore was planned before, and is not any more.'),
  supervised: Type.Boolean({ description: 'Whether `restart` works here.' }),
  moment: Type.String({ format: 'date-time', description: 'The moment of the state of the backup.' }),
  addedUsers: excerpt(Type.String(), 'Names of users whom only the backup has.'),
  removedUsers: excerpt(Type.String(), 'Names of users whom only the node has.'),
  changedUsers: excerpt(
    Type.Object({ present: user, restored: user }),
    'Users of both who have another name or another wallet in the backup.',
  ),
  owner: Type.Object({ present: owner('The present owner.'), restored: owner('The owner in the backup.') }),
  plugins: excerpt(
    Type.String(),
    'Plugins whose state is another one, or that have files or databases, which are replaced.',
  ),
  identity: Type.String({
    description:
      '`same`: the identity of the backup, which the node has now. `another`: the node takes it over, and the node that had it must not run any more. `new`: a new one. `present`: the backup has none.',
  }),
})

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
    response: { 200: answer },
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
    const { moment, differences } = folder.record
    if (differences === undefined) throw new Error('A restore that is ready has no differences.')
    if (body.confirm && body.restart) control.restart(`The backup ${folder.record.backup} is restored.`)
    return {
      success: true,
      prepared: folder.name,
      planned: body.confirm,
      replaces,
      supervised: control.supervised,
      moment,
      ...differences,
    }
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

function stopping(): NodekeepError {
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
