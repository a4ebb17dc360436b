import { ChangeGate, isNodekeepError } from '@nodekeep/plugin-sdk'
import type { ChangedPaths } from '../folders/linked-copy.ts'

/** Changes that are applied while a recording runs. */
interface Recording {
  /** Returns the paths of the changes that were applied since the recording began or this was called last. */
  take(): ChangedPaths
  end(): void
}

/** Runs the changes of a backend, tells snapshots which paths they changed, and halts them. */
export class RecordedChanges {
  readonly #gate = new ChangeGate()
  readonly #recordings = new Set<(paths: readonly string[], movesTrees: boolean) => void>()

  /**
   * Runs a change of files at these paths, and of missing folders above them.
   *
   * @param change calls `onApplied` when all names and files are as they will be. What it does after that, such as waiting for the
   * disk, holds up no snapshot
   * @param movesTrees the change may move or remove whole folders
   */
  async run<T>(
    paths: readonly (readonly string[])[],
    change: (onApplied: () => void) => Promise<T>,
    { movesTrees = false } = {},
  ): Promise<T> {
    const keys = paths.map((names) => names.join('/'))
    const applied = Promise.withResolvers<void>()
    let whole: Promise<T> | undefined
    await this.#gate.runShared(async () => {
      let refused = false
      try {
        whole = change(applied.resolve)
        await Promise.race([applied.promise, whole])
      } catch (error) {
        refused = isRefusal(error)
        throw error
      } finally {
        for (const note of this.#recordings) note(keys, movesTrees && !refused)
      }
    })
    return whole as Promise<T>
  }

  /** Waits until no change runs. Changes wait until the result is disposed. */
  halt(signal: AbortSignal): Promise<Disposable> {
    return this.#gate.halt(signal)
  }

  /**
   * Begins a recording. A path is noted when its change is applied: a reader of the path meanwhile finds it in the next
   * `take`, and during a halt nothing is missing.
   */
  record(): Recording {
    let changed = new Map<string, boolean>()
    const note = (paths: readonly string[], movesTrees: boolean) => {
      for (const path of paths) if (path !== '') changed.set(path, movesTrees || changed.get(path) === true)
    }
    this.#recordings.add(note)
    return {
      take() {
        const taken = changed
        changed = new Map()
        return taken
      },
      end: () => this.#recordings.delete(note),
    }
  }
}

/** Whether a change found that it is not possible, and so moved nothing. */
function isRefusal(error: unknown): boolean {
  return isNodekeepError(error) && ['CONFLICT', 'NOT_FOUND', 'PRECONDITION_FAILED'].includes(error.code)
}
