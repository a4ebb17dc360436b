import { type Static, Type } from '@nodekeep/plugin-sdk'

const moment = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })

/** The answer of `GET /api/backup/status`. */
export const backupStatus = Type.Object({
  running: Type.Union([
    Type.Object({
      step: Type.String({ description: '`preparing` or `writing`.' }),
      startedAt: Type.String({ format: 'date-time' }),
      entries: Type.Integer({ description: 'Files and folders that are in the archive.' }),
      bytes: Type.Integer({ description: 'Bytes of their content.' }),
      share: Type.Union([Type.Number(), Type.Null()], {
        description:
          'The share that is done, from 0 to 1, estimated by the backup before. Null for the first one.',
      }),
    }),
    Type.Null(),
  ]),
  last: Type.Union([
    Type.Object({
      at: Type.String({ format: 'date-time' }),
      filename: Type.Union([Type.String(), Type.Null()], { description: 'Null if it failed.' }),
      problem: Type.Union([Type.String(), Type.Null()], { description: 'The reason of a failure.' }),
    }),
    Type.Null(),
  ]),
  next: moment('When the schedule makes the next backup.'),
  folder: Type.String({ description: 'The folder of the backups on the machine of the node.' }),
  stored: Type.Object({
    backups: Type.Integer({ description: 'The number of the backups on this node.' }),
    bytes: Type.Integer({ description: 'Bytes of all of them together.' }),
    deletedNext: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description:
        'Those that are deleted after the next backup, as `backup.keep` says. Null if it is not set: then all stay.',
    }),
    encrypted: Type.Array(Type.String(), {
      description: 'Those that are encrypted. The node has no key for them: people give a recovery key.',
    }),
  }),
  ahead: Type.Array(Type.String(), {
    description:
      'The backups that are dated in the future, so they are kept and not counted. They were made while the clock was ahead, or it is behind now.',
  }),
  drill: Type.Union(
    [
      Type.Object({
        filename: Type.String({ description: 'The backup that was tried out.' }),
        at: Type.String({ format: 'date-time' }),
        result: Type.String({
          description:
            '`passed`: a second node was started on the backup and had everything. `verified`: it is large, all of it was read, and unless there is a problem, a second node had a sample of its files. `failed`: do not rely on it. `skipped`: it could not be tried.',
        }),
        problem: Type.Union([Type.String(), Type.Null()], {
          description:
            'The reason of a failure, of a drill that was skipped, or why no node was started on a large backup.',
        }),
        seconds: Type.Union([Type.Integer(), Type.Null()], {
          description: 'How long it took until the restored node answered.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'How the last drill ended.' },
  ),
  drills: Type.Boolean({
    description: 'Whether each backup is tried out when it is made, as `backup.drill` says.',
  }),
  isDrilling: Type.Boolean({ description: 'Whether a backup is being tried out.' }),
  reading: Type.Union([Type.Number(), Type.Null()], {
    description:
      'The share of a backup, from 0 to 1, that was read for `POST /api/backup/find` or `POST /api/backup/put-back`. Null while neither runs.',
  }),
  recipients: Type.Integer({
    description: 'The number of recovery keys that open the next backup. With 0, it is not encrypted.',
  }),
  command: Type.String({
    description:
      'The words that run the commands of backups in a shell on the machine of the node, such as `nodekeep backup`.',
  }),
  rehearsed: moment('When `nodekeep backup rehearse` last proved that somebody has the recovery key.'),
  planned: Type.Union(
    [
      Type.Object({
        backup: Type.String(),
        moment: Type.String({ format: 'date-time', description: 'The moment of the state of the backup.' }),
      }),
      Type.Null(),
    ],
    {
      description:
        'The restore that the next start applies, unless `DELETE /api/backup/restore` comes before.',
    },
  ),
  previous: Type.Array(
    Type.Object({
      backup: Type.String({ description: 'The backup that was restored.' }),
      bytes: Type.Integer({ description: 'Bytes of the data that was there before.' }),
    }),
    { description: 'The data that restores have kept, until `nodekeep backup forget-previous`.' },
  ),
  targets: Type.Array(
    Type.Object({
      name: Type.String(),
      completeAt: moment(
        'When the target last had all backups that it should have, since the start of the node.',
      ),
      problem: Type.Union([Type.String(), Type.Null()], { description: 'The reason why it has not.' }),
    }),
  ),
})

export type BackupStatus = Static<typeof backupStatus>
