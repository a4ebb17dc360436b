import { ChangeGate } from '@nodekeep/plugin-sdk'
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
    const step = await this.#gate.begin(signal)
    return () => step[Symbol.dispose]()
  }

  /**
   * Waits until no second step runs, and holds up new ones.
   *
   * @throws the reason of the signal when it is aborted meanwhile
   */
  async pause(signal: AbortSignal): Promise<Release> {
    const halt = await this.#gate.halt(signal)
    return () => halt[Symbol.dispose]()
  }
}
