import { Checked, type Static, Type } from '@nodekeep/plugin-sdk'
import { recipientProblem } from './archive/recovery-key.ts'
import { scheduleProblem } from './schedule/schedule.ts'

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

/** The section `backup` of the configuration. */
export const configuration = Type.Object({
  recipients: Type.Array(Checked(recipientProblem), {
    default: [],
    description:
      'Public keys of age, such as those of `nodekeep backup key`. With at least one, backups are encrypted to all of them, and only their secret halves open them.',
  }),
  include: Type.Array(Type.Union([Type.Literal('trash'), Type.Literal('versions')]), {
    default: [],
    uniqueItems: true,
    description:
      'What backups leave out by default, and yours are to have: `trash` for deleted files, `versions` for the former contents of files.',
  }),
  schedule: Type.Optional(
    Checked(scheduleProblem, {
      description:
        'When backups are made by themselves, as a cron expression in the time zone of the machine: `30 3 * * *` is every night at half past three. By default never.',
    }),
  ),
  keep: Type.Optional(
    Type.Object(
      {
        last: count('The newest backups.'),
        daily: count('Number of days whose newest backup stays.'),
        weekly: count('Number of weeks, from Monday on, whose newest backup stays.'),
        monthly: count('Number of months whose newest backup stays.'),
      },
      {
        description:
          'The backups to keep, counted in UTC. A backup stays if one of the numbers keeps it, and the newest one always stays. Others are deleted after the next backup. By default nothing is deleted.',
      },
    ),
  ),
  targets: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'The names of storage backends that get a copy of each backup: those of another disk, or of another machine. They must not be in `storage.mounts`.',
  }),
  drill: Type.Boolean({
    default: true,
    description:
      'Whether each backup is tried out: restored into an empty folder, and compared with the state of its moment by a second node that starts on it. Of those with more than 10 GiB of content, at most weekly, all is read and verified, and a sample of the files is restored.',
  }),
})

/** The configuration of backups. */
export type BackupConfiguration = Static<typeof configuration>
