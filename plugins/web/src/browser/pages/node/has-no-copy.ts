import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

type Status = NodeAnswers['GET /api/backup/status']

/** Whether the loss of the disk takes all backups along. */
export function hasNoCopy({ stored, targets }: Pick<Status, 'stored' | 'targets'>): boolean {
  return stored.backups > 0 && targets.length === 0
}
