import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { Refusal, refusalOf } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { undoHeader } from '../files/last-change.ts'
import { nameOf } from '../files/paths.ts'
import type { Attempt, Work } from '../files/tasks.ts'
import type { TrashItem } from './trash.ts'

/** The parts of a work that takes an item out of the trash. */
interface Leaving {
  /** Called when the item is not in the trash any more, also if another device was faster. */
  onGone(): void
}

interface Restoration extends Leaving {
  /** Another path than the former one. */
  readonly destination: string | undefined
  /** Called with the path at which the item is back. */
  onRestored(path: string): void
}

/** Puts an item back. If its path is taken, the node finds a free name beside it. */
export function restoration(page: PageContext, item: TrashItem, how: Restoration): Work {
  const { id, path } = item
  const { destination = path, onRestored, onGone } = how
  return {
    title: texts.trash.restoring(nameOf(path)),
    path: destination,
    ifExists: 'ask',
    isQuiet: true,
    async attempt(attempt) {
      const body = { id, ...(how.destination !== undefined && { destination }) }
      const answer = await post(page, 'restore', body, attempt)
      if (answer === null) return new Refusal(0, '')
      if (answer.ok || answer.status === 404) onGone()
      if (!answer.ok) return refusalOf(answer.status, await answer.text())
      const restored = (await answer.json()) as NodeAnswers['POST /api/files/trash/restore']
      onRestored(restored.path)
      attempt.answered(answer.headers.get(undoHeader))
      return null
    },
    isDone: async () => false,
  }
}

/** Deletes an item for good. Nothing takes that back. */
export function finalRemoval(page: PageContext, { id, path }: TrashItem, { onGone }: Leaving): Work {
  return {
    title: texts.files.deleting(nameOf(path)),
    path,
    ifExists: 'ask',
    isQuiet: true,
    async attempt(attempt) {
      const answer = await post(page, 'delete', { id }, attempt)
      if (answer === null) return new Refusal(0, '')
      if (!answer.ok && answer.status !== 404) return refusalOf(answer.status, await answer.text())
      onGone()
      attempt.answered(null)
      return null
    },
    isDone: async () => false,
  }
}

/** Returns works of which each attempt begins when the one before has ended. */
export function inTurn(works: readonly Work[]): Work[] {
  let last: Promise<unknown> = Promise.resolve()
  return works.map((work) => ({
    ...work,
    attempt(attempt) {
      const next = last.then(() => work.attempt(attempt))
      last = next.catch(() => {})
      return next
    },
  }))
}

/** Resolves to `null` if the node does not answer. */
async function post(
  page: PageContext,
  action: 'restore' | 'delete',
  body: object,
  { headers, signal }: Attempt,
): Promise<Response | null> {
  const init = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  }
  return page.fetch(`/api/files/trash/${action}`, init).catch(() => null)
}
