import { ChangeGate, untilAborted } from '@nodekeep/plugin-sdk'
import type { Release } from '../paths/path-locks.ts'

/**
 * The second steps of moves across mounts: from the placing of the copy to the removal of the source. Meanwhile a file is at two
 * paths, so a backup waits for their end.
 */
export class CrossMountMoves {
  readonly #gate = new ChangeGate()

  /**
   * Begins a second step. It waits while a backup holds it up.
   *
   * @throws the reason of the signal when it is aborted meanwhile
   */
  async begin(signal?: AbortSignal): Promise<Release> {
    const held = heldUntilReleased((work) => this.#gate.runShared(work))
    if (signal === undefined) return held
    return untilAborted(held, signal).catch((error) => {
      held.then((release) => release())
      throw error
    })
  }

  /**
   * Waits until no second step runs, and holds up new ones.
   *
   * @throws the reason of the signal when it is aborted meanwhile
   */
  pause(signal: AbortSignal): Promise<Release> {
    return heldUntilReleased((work) => this.#gate.runExclusive(work, signal))
  }
}

function heldUntilReleased(run: (work: () => Promise<void>) => Promise<void>): Promise<Release> {
  return new Promise((resolve, reject) => {
    run(() => new Promise<void>((release) => resolve(release))).catch(reject)
  })
}
