import {
  type BackupOmission,
  type BackupParticipant,
  type BackupSnapshot,
  haltTogether,
  isNodekeepError,
  NodekeepError,
  type RegistryReader,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'

/** The state of all participants at one moment. */
export interface NodeSnapshot extends AsyncDisposable {
  readonly moment: Date
  /** By the names of the participants, which are their folders in the archive. */
  readonly parts: ReadonlyMap<string, BackupSnapshot>
  /** Everything that the participants leave out. */
  readonly omitted: readonly BackupOmission[]
}

/** The limits of participants, in milliseconds. */
export interface SnapshotLimits {
  /** For the long work, which all do side by side while changes go on. */
  readonly prepareMs: number
  /** From the first halt until all go on. */
  readonly takeMs: number
  /** For the next entry, and for the next bytes of an entry. */
  readonly stallMs: number
}

export const defaultLimits: SnapshotLimits = {
  prepareMs: 30 * 60_000,
  takeMs: 10_000,
  stallMs: 10 * 60_000,
}

/**
 * Fixes the state of all participants at one moment.
 *
 * Participants halt in the reverse order of their registration. The kernel's databases are the first that were registered: while
 * they are fixed, everything else stands still.
 *
 * @throws NodekeepError INTERNAL_ERROR that names the participant that failed or took too long, the participant's own
 *   NodekeepError, or the signal's reason. Nothing stands still then, also if the participant never answers
 */
export async function takeNodeSnapshot(
  registry: Iterable<readonly [string, BackupParticipant]> | RegistryReader<BackupParticipant>,
  signal: AbortSignal,
  { prepareMs, takeMs }: Pick<SnapshotLimits, 'prepareMs' | 'takeMs'>,
): Promise<NodeSnapshot> {
  const failed = new AbortController()
  const ended = AbortSignal.any([signal, failed.signal])
  let deadline = performance.now() + prepareMs
  let limitMs = prepareMs
  /** Runs a step of a participant. The first failure ends all steps. A result that comes later is undone. */
  const step = async <T>(name: string, run: () => Promise<T>, undo: (late: T) => unknown): Promise<T> => {
    const running = (async () => run())()
    try {
      return await withTimeLimit(running, deadline - performance.now(), tooLong(name, limitMs), ended)
    } catch (error) {
      running.then(undo).catch(() => {})
      failed.abort(participantError(name, error))
      throw ended.reason
    }
  }
  const participants = [...registry].reverse()
  const preparations = participants.map(async ([name, participant]) => {
    const prepared = await step(name, () => participant.prepare(ended), release)
    return {
      release: () => prepared.release(),
      async halt() {
        const halted = await step(
          name,
          () => prepared.halt(),
          (late) => late[Symbol.asyncDispose](),
        )
        return {
          fix: () => step(name, () => halted.fix(), release),
          [Symbol.asyncDispose]: () =>
            step(
              name,
              async () => halted[Symbol.asyncDispose](),
              () => {},
            ),
        }
      },
    }
  })
  let taken: BackupSnapshot[] = []
  try {
    const prepared = await Promise.all(preparations)
    limitMs = takeMs
    deadline = performance.now() + takeMs
    let moment: Date
    {
      await using halted = await haltTogether(prepared)
      taken = await halted.fix()
      moment = new Date()
    }
    const parts = new Map(taken.map((part, index) => [(participants[index] as [string, unknown])[0], part]))
    const omitted = await Promise.all(
      [...parts].map(async ([name, part]) => {
        const left = await step(
          name,
          () => part.omitted(),
          () => {},
        )
        return left.map(({ what, why }) => ({ what: `${name}: ${what}`, why }))
      }),
    )
    return { moment, parts, omitted: omitted.flat(), [Symbol.asyncDispose]: () => releaseAll(taken) }
  } catch (error) {
    await releaseAll(taken)
    ended.throwIfAborted()
    throw error
  } finally {
    const settled = await Promise.allSettled(preparations)
    await releaseAll(settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])))
  }
}

function release(snapshot: { release(): Promise<void> }): Promise<void> {
  return snapshot.release()
}

async function releaseAll(held: readonly { release(): Promise<void> }[]): Promise<void> {
  await Promise.allSettled(held.map(release))
}

function tooLong(name: string, limitMs: number): NodekeepError {
  return failure(name, `it took longer than ${limitMs / 1000} s`)
}

function participantError(name: string, error: unknown): NodekeepError {
  if (isNodekeepError(error)) return error
  return failure(name, error instanceof Error ? error.message : String(error), error)
}

function failure(name: string, why: string, cause?: unknown): NodekeepError {
  return new NodekeepError('INTERNAL_ERROR', `The backup failed at the part "${name}": ${why}.`, { cause })
}
