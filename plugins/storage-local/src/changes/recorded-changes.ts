import { ChangeGate, isNodekeepError } from '@nodekeep/plugin-sdk'
import type { ChangedPaths } from '../folders/linked-copy.ts'

/** Changes that end while a recording runs. */
interface Recording {
  /** Returns the paths of the changes that ended since the recording began or this was called last. */
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
   * @param movesTrees the change may move or remove whole folders
   */
  run<T>(
    paths: readonly (readonly string[])[],
    change: () => Promise<T>,
    { movesTrees = false } = {},
  ): Promise<T> {
    const keys = paths.map((names) => names.join('/'))
    return this.#gate.runShared(async () => {
      let refused = false
      try {
        return await change()
      } catch (error) {
        refused = isRefusal(error)
        throw error
      } finally {
        for (const note of this.#recordings) note(keys, movesTrees && !refused)
      }
    })
  }

  /** Runs work while no change runs, and changes wait. */
  halt<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#gate.runExclusive(work, signal)
  }

  /**
   * Begins a recording. A path is noted when its change ends: whoever looks at a path meanwhile finds it in the next
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
