import { changeHeaders, changeOrigin, clientSignal, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import { maxFound } from '../archive/user-files.ts'
import { logSecurityEvent } from '../security-event.ts'
import type { ReadBackups } from './read-backups.ts'

const config = { access: 'owner', scope: 'backup', answersLate: true } as const

const backup = {
  filename: Type.String({ description: 'A backup of `GET /api/backup/list`.' }),
  key: Type.Optional(
    Type.String({
      maxLength: 10_000,
      description: 'The secret half of a recovery key, for an encrypted backup.',
    }),
  ),
}

/** Registers the endpoints that find files of users in a backup, and put them back. */
export function userFileRoutes(app: RoutesApp, reads: ReadBackups): void {
  const find = {
    operationId: 'findInBackup',
    summary: 'Find files and folders of users in a backup by their names',
    description: 'The whole backup is read and verified meanwhile. One backup is read at a time.',
    body: Type.Object(
      {
        ...backup,
        text: Type.String({
          minLength: 1,
          maxLength: 4096,
          description: 'A part of a name, or with a slash of a path. The case does not matter.',
        }),
      },
      { additionalProperties: false },
    ),
    response: {
      200: Type.Object({
        count: Type.Integer({ description: 'How many were found.' }),
        found: Type.Array(
          Type.Object({
            userUuid: Type.String(),
            username: Type.String({ description: 'As it was in the backup.' }),
            path: Type.String({ description: 'As the user saw it.' }),
            type: Type.Union([Type.Literal('file'), Type.Literal('directory')]),
            size: Type.Integer({ description: 'Bytes; 0 for a folder.' }),
            modified: Type.String({ format: 'date-time' }),
          }),
          { maxItems: maxFound, description: 'The first of them.' },
        ),
      }),
    },
  }
  app.post('/find', { schema: find, config }, async (request, reply) => {
    const { text, ...rest } = request.body
    const { found, count } = await reads.find(text, { ...rest, signal: clientSignal(reply) })
    logSecurityEvent(request, 'backup-searched', 'A backup was searched for files.', {
      filename: rest.filename,
    })
    return { count, found: found.map((one) => ({ ...one, modified: one.modified.toISOString() })) }
  })

  const putBack = {
    operationId: 'putBackFromBackup',
    summary: 'Put a file or a folder of a backup back into the files of its user',
    description:
      'It gets its path again, or a name with the date of the backup beside what is there now. Nothing is replaced. The whole backup is read and verified before.',
    headers: changeHeaders,
    body: Type.Object(
      {
        ...backup,
        userUuid: Type.String({ maxLength: 100 }),
        path: Type.String({ pattern: '^/.', maxLength: 4096 }),
      },
      { additionalProperties: false },
    ),
    response: { 200: Type.Object({ path: Type.String({ description: 'Where it is now.' }) }) },
  }
  app.post('/put-back', { schema: putBack, config }, async (request, reply) => {
    const { userUuid, path, ...rest } = request.body
    // The files may be those of another user, who must not learn the owner's session.
    const maker = { kind: 'plugin', id: 'backup', user: userOf(request).uuid } as const
    const origin = { ...changeOrigin(request), by: 'backup', maker }
    const now = await reads.putBack({ ...rest, userUuid, path, origin, signal: clientSignal(reply) })
    logSecurityEvent(request, 'file-put-back', 'A file of a backup was put back.', {
      filename: rest.filename,
      ofUserUuid: userUuid,
      path: now,
    })
    return { path: now }
  })
}
