import {
  type BackupParticipant,
  type BackupSnapshot,
  isNodekeepError,
  NodekeepError,
  type PreparedSnapshot,
  type RegistryReader,
  takeTogether,
  untilAborted,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'

/** The state of all participants at one moment. */
export interface NodeSnapshot extends AsyncDisposable {
  readonly moment: Date
  /** By the names of the participants, which are their folders in the archive. */
  readonly parts: ReadonlyMap<string, BackupSnapshot>
}

/** The limits of participants, in milliseconds. */
export interface SnapshotLimits {
  /** For the long work, which all do side by side while changes go on. */
  readonly prepareMs: number
  /** For the moment of all together. Changes wait meanwhile. */
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
 * The participant that was added first comes to a halt last. The kernel's databases are the first: while they are fixed,
 * everything else stands still.
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
  const participants = [...registry].reverse()
  const names = participants.map(([name]) => name)
  const preparations = participants.map(([name, participant]) => prepare(name, participant, prepareMs, ended))
  try {
    const prepared = await Promise.all(preparations)
    let moment = new Date()
    /** The parts that are being taken, in the order of their halts. */
    const halting: string[] = []
    let failedAt: string | undefined
    const watched = prepared.map((snapshot, index) => ({
      async take(atMoment: () => Promise<void>) {
        const name = names[index] as string
        halting.push(name)
        try {
          // A part that waits for one that hangs goes on with the failure.
          return await snapshot.take(() => untilAborted(atMoment(), ended))
        } catch (error) {
          failedAt ??= name
          throw error
        } finally {
          halting.splice(halting.indexOf(name), 1)
        }
      },
      release: () => snapshot.release(),
    }))
    const taking = takeTogether(watched, async () => {
      moment = new Date()
    })
    const timer = setTimeout(() => failed.abort(tooLong(halting.at(-1) ?? '', takeMs)), takeMs)
    const taken = await untilAborted(taking, ended)
      .catch((error) => {
        taking.then(releaseAll).catch(() => {})
        throw ended.aborted ? error : participantError(failedAt ?? '', error)
      })
      .finally(() => clearTimeout(timer))
    return {
      moment,
      parts: new Map(taken.map((snapshot, index) => [names[index] as string, snapshot])),
      [Symbol.asyncDispose]: () => releaseAll(taken),
    }
  } catch (error) {
    failed.abort(error)
    throw error
  } finally {
    const settled = await Promise.allSettled(preparations)
    await releaseAll(settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])))
  }
}

async function prepare(
  name: string,
  participant: BackupParticipant,
  limitMs: number,
  signal: AbortSignal,
): Promise<PreparedSnapshot<BackupSnapshot>> {
  const preparing = (async () => participant.prepare(signal))()
  try {
    return await withTimeLimit(preparing, limitMs, tooLong(name, limitMs), signal)
  } catch (error) {
    preparing.then((prepared) => prepared.release()).catch(() => {})
    signal.throwIfAborted()
    throw participantError(name, error)
  }
}

async function releaseAll(held: readonly { release(): Promise<void> }[]): Promise<void> {
  await Promise.allSettled(held.map((snapshot) => snapshot.release()))
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
