import {
  type BackupOmission,
  type BackupOptions,
  type BackupParticipant,
  type BackupSnapshot,
  type HaltedSnapshot,
  haltTogether,
  isNodekeepError,
  lackingMethod,
  messageOf,
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
  /** From the first halt until all states are fixed, and then for each part to go on. */
  readonly takeMs: number
  /** For the next entry, and for the next bytes of an entry. */
  readonly stallMs: number
}

export const defaultLimits: SnapshotLimits = {
  prepareMs: 30 * 60_000,
  takeMs: 10_000,
  stallMs: 10 * 60_000,
}

interface StepOptions<T> {
  /** In milliseconds, from the begin of the step if there is no deadline. */
  readonly limitMs: number
  /** In milliseconds of `performance.now()`. */
  readonly deadline?: number
  /** Ends the step early. */
  readonly endsWith?: AbortSignal
  /** Names a method that the result lacks; `null` if it has all of them. */
  readonly lacking?: (result: T) => string | null
  readonly undo?: (result: T) => unknown
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
  options?: BackupOptions,
): Promise<NodeSnapshot> {
  const failed = new AbortController()
  const ended = AbortSignal.any([signal, failed.signal])
  /** Runs a step of a participant. The first failure ends all steps. A result that comes later, or that is wrong, is undone. */
  const step = async <T>(
    name: string,
    run: () => Promise<T>,
    { limitMs, deadline, endsWith, lacking, undo }: StepOptions<T>,
  ): Promise<T> => {
    const running = (async () => run())()
    try {
      const leftMs = (deadline ?? performance.now() + limitMs) - performance.now()
      const result = await withTimeLimit(running, leftMs, tooLong(name, limitMs), endsWith)
      const lack = lacking?.(result) ?? null
      if (lack !== null) throw olderContract(name, lack)
      return result
    } catch (error) {
      if (undo !== undefined) running.then(undo).catch(() => {})
      failed.abort(participantError(name, error))
      throw ended.reason
    }
  }
  const participants = [...registry].reverse()
  let deadline = Number.POSITIVE_INFINITY
  const preparations = participants.map(async ([name, participant]) => {
    const prepared = await step(name, () => participant.prepare(ended, options), {
      limitMs: prepareMs,
      endsWith: ended,
      lacking: (result) => lackingMethod(result, 'halt', 'release'),
      undo: release,
    })
    return {
      release: () => prepared.release(),
      // An abort does not cut a halt and its fix: they end before the part is released.
      async halt() {
        ended.throwIfAborted()
        const halted = await step(name, () => prepared.halt(), {
          limitMs: takeMs,
          deadline,
          lacking: (result) => lackingMethod(result, 'fix'),
          undo: goOn,
        })
        return {
          async fix() {
            ended.throwIfAborted()
            return step(name, () => halted.fix(), {
              limitMs: takeMs,
              deadline,
              lacking: (result) => lackingMethod(result, 'entries', 'omitted', 'release'),
              undo: release,
            })
          },
          [Symbol.asyncDispose]: () => step(name, () => goOn(halted), { limitMs: takeMs }),
        }
      },
    }
  })
  let taken: BackupSnapshot[] = []
  try {
    const prepared = await Promise.all(preparations)
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
        const left = await step(name, () => part.omitted(), { limitMs: takeMs, endsWith: ended })
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

async function release(snapshot: { release(): Promise<void> }): Promise<void> {
  await snapshot.release()
}

async function goOn(halted: HaltedSnapshot<BackupSnapshot>): Promise<void> {
  await halted[Symbol.asyncDispose]()
}

async function releaseAll(held: readonly { release(): Promise<void> }[]): Promise<void> {
  await Promise.allSettled(held.map(release))
}

function tooLong(name: string, limitMs: number): NodekeepError {
  return failure(name, `it took longer than ${limitMs / 1000} s`)
}

function olderContract(name: string, lack: string): NodekeepError {
  return failure(
    name,
    `its snapshot ${lack}. Its plugin was written for an older version of the SDK: update the plugin`,
  )
}

function participantError(name: string, error: unknown): NodekeepError {
  if (isNodekeepError(error)) return error
  return failure(name, messageOf(error), error)
}

function failure(name: string, why: string, cause?: unknown): NodekeepError {
  return new NodekeepError('INTERNAL_ERROR', `The backup failed at the part "${name}": ${why}.`, { cause })
}
