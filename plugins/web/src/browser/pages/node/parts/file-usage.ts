import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { bytesText } from '../../../bytes-text.ts'
import { usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { ifRunning } from '../../../refusal.ts'
import { reasonOf, request } from '../../../request.ts'
import * as texts from '../../../texts.ts'

/** The room that the files of all users take. */
export type FileUsage = NodeAnswers['GET /api/files/usage/all']

const words = texts.usage

interface UsageOfAll {
  /** `null` while the node has no files, and until it has answered. */
  readonly all: FileUsage | null
  readonly isKnown: boolean
  refresh(): Promise<void>
}

/** Asks for the usage of all users. */
export function useFileUsage(page: PageContext): UsageOfAll {
  const usage = usePolled<Pick<UsageOfAll, 'all'>>(page, {
    load: async (get) => ({ all: await ifRunning(get('GET /api/files/usage/all')) }),
    pauseMs: (value) => (value?.all?.users.some(({ isComplete }) => !isComplete) ? 2000 : 15_000),
  })
  return { all: usage.value.value?.all ?? null, isKnown: usage.isKnown, refresh: () => usage.refresh() }
}

/** Asks the owner how much a user may store, and sets it. */
export async function askQuota(
  page: PageContext,
  { uuid, username, quota, hasOwnQuota }: FileUsage['users'][number],
): Promise<void> {
  const { users: forms } = texts.node
  const own = quota === null ? forms.quotaNone : bytesText(quota)
  const check = (typed: string) =>
    request(page, 'PUT /api/files/quotas/{uuid}', { names: { uuid }, body: { quota: typed } }).then(
      () => null,
      reasonOf,
    )
  await ask({
    title: forms.quotaTitle(username),
    text: forms.quotaText,
    field: { label: forms.quotaLabel, value: hasOwnQuota ? own : forms.quotaDefault },
    agree: forms.quotaSet,
    check,
  })
}

/** How much the files of a user take, and how much they may. */
export function usageText({ bytes, entries, kept, isComplete, quota }: FileUsage['users'][number]): string {
  return [
    words.taken(bytesText(bytes), texts.files.count(entries)),
    ...(isComplete ? [] : [words.counting]),
    ...(kept.trash + kept.versions === 0
      ? []
      : [words.keptOfUser(bytesText(kept.trash), bytesText(kept.versions))]),
    ...(quota === null ? [] : [words.mayStore(bytesText(quota))]),
  ].join(', ')
}
