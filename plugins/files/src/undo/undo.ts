import { setImmediate } from 'node:timers/promises'
import {
  concurrently,
  type FileChangeOptions,
  isNodekeepError,
  KeyedLock,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import type { KeptEntry } from '../entries/kept-reader.ts'
import type { RecordedChange } from '../journal/change.ts'
import { idOf } from '../kept/kept-entries.ts'
import { restoreItemAt } from '../kept/trash.ts'
import { listVersions, moveVersion, restoreVersionAt } from '../kept/versions.ts'
import { keepsDeleted } from '../operations/keeping.ts'
import { makeDirectory } from '../operations/make-directory.ts'
import { move } from '../operations/moving.ts'
import { ignoreMissing } from '../operations/path-errors.ts'
import { remove } from '../operations/removal.ts'
import type { Scope, ScopeOf } from '../operations/scope.ts'
import type { UserPath } from '../paths/user-path.ts'
import { itemOf, type LaterChanges, laterChanges, presentNames } from './later-changes.ts'
import { type Expected, planUndo, type UndoPlan, type UndoStep } from './undo-plan.ts'

/** Changes of a group, and changes after its first one, that are looked through. */
const mostChanges = 10_000

/** Changes that are read at a time. Reading is synchronous. */
const pageSize = 1000

/** Paths that are looked at before anything is taken back, at a time. */
const looksAtOnce = 16

/** Paths that a refusal names. */
const mostPaths = 20

/** Takes back changes of a user's files. */
export interface Undo {
  /**
   * Takes back the user's changes of a group, newest first. The changes that do so are a group of their own. When they are made, all is as it
   * was before, so a group before them can be taken back next.
   *
   * @param origin of these changes, with their group
   * @returns the number of changes that were taken back
   * @throws UndoRefused before anything is changed; NodekeepError NOT_FOUND if the user has no such changes
   */
  takeBack(
    userUuid: string,
    group: string,
    origin: FileChangeOptions & { readonly group: string },
  ): Promise<number>
}

/** Nothing was taken back, because of what is at these paths. */
export class UndoRefused extends NodekeepError {
  readonly paths: readonly UserPath[]

  constructor(reason: string, paths: Iterable<UserPath>) {
    const all = [...paths].sort()
    const named = all.slice(0, 3).map((path) => `"${path}"`)
    const more = all.length > named.length ? ` and ${all.length - named.length} more` : ''
    super('CONFLICT', `Nothing was taken back: ${reason}: ${named.join(', ')}${more}.`)
    this.paths = all.slice(0, mostPaths)
  }
}

/** Takes back changes one group of a user at a time. */
export function createUndo(scopeOf: ScopeOf): Undo {
  const running = new KeyedLock()
  return {
    takeBack: (userUuid, group, origin) =>
      running.run([userUuid], async () => {
        const scope = scopeOf(userUuid, origin)
        const changes = await changesOf(scope, group)
        await takeBack(scope, group, changes)
        // All is taken back. On a full disk, only what came before cannot be taken back next.
        await scope.journal.markUndo(userUuid, origin.group, changes[0]?.seq ?? 0).catch(ignoreUnwritten)
        return changes.length
      }),
  }
}

/** @param changes those of the group, newest first */
async function takeBack(scope: Scope, group: string, changes: readonly RecordedChange[]): Promise<void> {
  const others = await othersSince(scope, group, changes.at(-1)?.seq ?? 0)
  const later = laterChanges(changes, others)
  const plan = await planUndo({
    group: changes,
    later,
    kept: await keptBy(scope, changes, later),
    isKept: (path) => keepsDeleted(scope.keeping, scope.locate(path).backend),
  })
  await refuseChanged(scope, plan)
  for (const [done, step] of plan.steps.entries()) {
    await perform(scope, step).catch((error) => {
      throw done > 0 && isNodekeepError(error) ? undoneInPart(error) : error
    })
  }
}

async function changesOf({ journal, userUuid }: Scope, group: string): Promise<readonly RecordedChange[]> {
  let changes = await journal.inGroup(userUuid, group, mostChanges + 1)
  if (changes.some(({ isPending }) => isPending)) {
    // On a full disk, outcomes wait for room. They are written with this, or the answer is that the disk is full.
    await journal.probe()
    changes = await journal.inGroup(userUuid, group, mostChanges + 1)
  }
  if (changes.length === 0) {
    const message = 'There are no such changes, or they are too old. Nothing was taken back.'
    throw new NodekeepError('NOT_FOUND', message)
  }
  if (changes.length > mostChanges)
    throw new NodekeepError('CONFLICT', `More than ${mostChanges} changes cannot be taken back at once.`)
  if (changes.some(({ isPending }) => isPending)) {
    const message = 'The storage has not told yet whether all of these changes were made. Try again later.'
    throw new NodekeepError('SERVICE_UNAVAILABLE', message)
  }
  return changes
}

/** The changes after one that are none of a group, newest first. */
async function othersSince(
  { journal, userUuid }: Scope,
  group: string,
  seq: number,
): Promise<readonly RecordedChange[]> {
  const others: RecordedChange[] = []
  for (let after = seq; ; ) {
    const page = await journal.since(userUuid, after, pageSize)
    others.push(...page.filter((change) => change.group !== group))
    if (others.length > mostChanges) {
      const message = `More than ${mostChanges} changes came after these. Nothing was taken back.`
      throw new NodekeepError('CONFLICT', message)
    }
    if (page.length < pageSize) return others.reverse()
    after = page.at(-1)?.seq ?? after
    await setImmediate()
  }
}

/** The entries that the changes have kept, as far as they are still kept, by the kept names that the changes have given them. */
async function keptBy(
  { journal, userUuid }: Scope,
  changes: readonly RecordedChange[],
  { undone }: LaterChanges,
): Promise<ReadonlyMap<string, KeptEntry>> {
  const found = new Map<string, KeptEntry>()
  const present = presentNames(undone)
  const names = new Set(changes.flatMap(({ keptAs }) => (keptAs === undefined ? [] : itemOf(keptAs))))
  for (const [looks, name] of [...names].entries()) {
    let now = name
    for (let next = present.get(now); next !== undefined; next = present.get(now)) now = next
    const entry = (await journal.keptOf(userUuid)).named(userUuid, now)
    if (entry !== null) found.set(name, entry)
    if (looks % pageSize === 0) await setImmediate()
  }
  return found
}

/** @throws UndoRefused if something is not as the changes have left it, or not all of it can come back */
async function refuseChanged(scope: Scope, plan: UndoPlan): Promise<void> {
  const changed = new Set(plan.changedSince)
  if (changed.size === 0) {
    await concurrently(plan.expected, looksAtOnce, async (expected) => {
      if (!(await isAsExpected(scope, expected))) changed.add(expected.path)
    })
  }
  if (changed.size > 0) throw new UndoRefused('something was changed since', changed)
  if (plan.notKept.size > 0) throw new UndoRefused('not all of it is kept', plan.notKept)
}

/** Another program may have changed it, and nobody has noticed yet. */
async function isAsExpected({ mounts, userUuid }: Scope, { path, revision }: Expected): Promise<boolean> {
  const entry = await mounts.entryAt(userUuid, path)
  if (revision === null || entry === null) return revision === null && entry === null
  return revision === undefined || (entry.type === 'file' && entry.revision === revision)
}

async function perform(scope: Scope, step: UndoStep): Promise<void> {
  const { path } = step
  switch (step.kind) {
    case 'restore item':
      return restoreItemAt(scope, step.item, path)
    case 'restore version':
      await restoreVersionAt(scope, path, idOf(step.version))
      return
    case 'split': {
      await restoreVersionAt(scope, path, idOf(step.version))
      const [present] = (await listVersions(scope, path, { limit: 1 })).items
      if (present !== undefined) await moveVersion(scope, { from: path, path: step.movedTo }, present.id)
      return
    }
    case 'move':
      await move(scope, path, step.to, { overwrite: step.overwrite })
      return
    case 'make folder':
      await makeDirectory(scope, path)
      return
    case 'remove':
      return remove(scope, path, step.revision === undefined ? {} : { ifRevision: step.revision })
    case 'remove if empty':
      return remove(scope, path, { onlyIfEmpty: true }).catch(ignoreInUse)
  }
}

function ignoreUnwritten(error: unknown): void {
  if (!isNodekeepError(error)) throw error
}

/** A folder that is in use stays. */
function ignoreInUse(error: unknown): void {
  if (!isNodekeepError(error) || error.code !== 'CONFLICT') ignoreMissing(error)
}

function undoneInPart(cause: NodekeepError): NodekeepError {
  const message = `Only a part was taken back: ${cause.message} Look at the changes, and at the trash and the versions.`
  return new NodekeepError(cause.code, message, { cause, headers: cause.headers })
}
