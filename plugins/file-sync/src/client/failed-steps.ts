import { PathTree } from './path-tree.ts'
import type { Step } from './reconcile.ts'
import type { Replicas } from './replicas.ts'
import type { SyncFailure } from './sync-failure.ts'
import type { SyncState } from './sync-state.ts'

/** A step that has failed. */
interface FailedStep {
  /** Attempts in a row. */
  readonly attempts: number
  /** The step, and the entries of both sides that it met. */
  readonly situation: string
  /** Attempts in a row that did not find this situation, as if it had changed, although it is the same after each scan. */
  readonly vain: number
}

/**
 * Attempts at a step before a person gets a message. If the same step has met the same entries each time, it is not tried again before
 * something changes: the disk may have another idea of its names than the client.
 */
const mostAttempts = 6

/** The steps that have failed, and the problems that a person is told of. */
export class FailedSteps {
  readonly #state: SyncState
  readonly #replicas: Replicas
  readonly #failed = new PathTree<FailedStep>()

  constructor(state: SyncState, replicas: Replicas) {
    this.#state = state
    this.#replicas = replicas
  }

  /** The paths of failed steps at a path and below it. */
  within(path: string): string[] {
    return this.#failed.within(path)
  }

  /** Forgets that a step of a path has failed. Returns whether one had. */
  forget(path: string): boolean {
    if (this.#failed.get(path) === undefined) return false
    this.#failed.delete(path)
    this.#replicas.problems.delete(path)
    return true
  }

  /**
   * Records that a step has failed.
   *
   * @returns its attempts in a row, and whether it is not tried again before something changes
   */
  add(
    path: string,
    step: Step,
    { kind, message }: SyncFailure,
  ): { readonly attempts: number; readonly waitsForChange: boolean } {
    const { local, problems } = this.#replicas
    const former = this.#failed.get(path)
    const attempts = (former?.attempts ?? 0) + 1
    const situation = JSON.stringify([step, local.get(path), this.#state.remote.get(path)])
    const formerVain = former?.situation === situation ? former.vain : 0
    const vain = kind === 'changed' ? formerVain + 1 : formerVain
    this.#failed.set(path, { attempts, situation, vain })
    const waitsForChange = kind === 'refused' || vain >= mostAttempts
    // One sentence tells it of all paths for which the node has no room.
    if (waitsForChange || (attempts >= mostAttempts && kind !== 'full')) problems.set(path, message)
    return { attempts, waitsForChange }
  }
}
