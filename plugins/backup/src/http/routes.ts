import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { sendOwnFile } from '@nodekeep/plugin-sdk/send-own-file'
import type { Backups } from '../backups.ts'
import { logSecurityEvent } from '../security-event.ts'
import type { BackupFolder } from '../stored/backup-folder.ts'
import type { BackupStatus } from './status.ts'
import { backupStatus } from './status.ts'

const config = { access: 'owner', scope: 'backup' } as const

const byName = Type.Object({
  filename: Type.String({ description: 'Such as "backup-20261122-033000.tar.gz".' }),
})

/** Registers the endpoints of the interface's section "Backup endpoints", and those for the status and for deletion. */
export function backupRoutes(
  app: RoutesApp,
  backups: Backups,
  folder: BackupFolder,
  status: () => Promise<BackupStatus>,
): void {
  const create = {
    operationId: 'createBackup',
    summary: 'Make a backup, and answer when it is whole',
    response: {
      200: Type.Object({ success: Type.Boolean(), filename: Type.String(), size: Type.Integer() }),
    },
  }
  app.post('/create', { schema: create, config: { ...config, answersLate: true } }, async () => {
    const { filename, size } = await backups.make()
    return { success: true, filename, size }
  })

  const entry = Type.Object({
    filename: Type.String(),
    size: Type.Integer({ description: 'Bytes.' }),
    created: Type.String({ format: 'date-time', description: 'The moment of the state.' }),
  })
  const list = {
    operationId: 'listBackups',
    summary: 'List the backups, newest first',
    response: { 200: Type.Object({ backups: Type.Array(entry) }) },
  }
  app.get('/list', { schema: list, config }, async () => {
    const stored = await folder.list()
    return {
      backups: stored.map(({ filename, size, created }) => ({
        filename,
        size,
        created: created.toISOString(),
      })),
    }
  })

  const describe = {
    operationId: 'getBackupStatus',
    summary: 'Get the progress of a running backup, and how the last one ended',
    response: { 200: backupStatus },
  }
  app.get('/status', { schema: describe, config }, async () => status())

  const download = {
    operationId: 'downloadBackup',
    summary: 'Download a backup',
    params: byName,
    response: {
      200: {
        description: 'The archive.',
        content: { 'application/gzip': { schema: Type.Unsafe<never>({ type: 'string', format: 'binary' }) } },
      },
    },
  }
  app.get('/download/:filename', { schema: download, config }, async (request, reply) => {
    const { filename } = request.params
    const file = await folder.find(filename)
    if (request.method === 'GET')
      logSecurityEvent(request, 'backup-downloaded', 'A backup is downloaded.', { filename })
    return sendOwnFile(request, reply, file, { type: 'application/gzip', saveAs: filename })
  })

  const remove = {
    operationId: 'deleteBackup',
    summary: 'Delete a backup',
    params: byName,
    response: { 200: Type.Object({ success: Type.Boolean() }) },
  }
  app.delete('/:filename', { schema: remove, config }, async (request) => {
    const { filename } = request.params
    await folder.remove(filename)
    logSecurityEvent(request, 'backup-deleted', 'A backup was deleted.', { filename })
    return { success: true }
  })
}
