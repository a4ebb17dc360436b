import { FairSlots, nameOf, untilAborted } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import type { PictureSource } from './picture-bytes.ts'
import { type PicturePlan, planPicture } from './plan-picture.ts'

/** Most pieces of all plans that are kept: some MB of memory. */
const mostPieces = 50_000

/** Plans that are made at a time, and those of the files of one user. Each reads a file, and may look at all of its bytes. */
const mostAtOnce = 8
const mostOfUser = 4

/** A file in one version. */
interface PictureFile {
  readonly userUuid: string
  readonly path: string
  readonly revision: string
}

/**
 * Plans pictures, a few at a time, and keeps the plans that were used last: a player of ranges, and one who looks first, do not make the node read a
 * file again. Requests for one file at a time share its plan. The plan of a guest who leaves ends when it runs or has its turn, and the next one who
 * waits for it makes it: those who stay do not wait for files that nobody wants any more.
 */
export class PicturePlans {
  readonly #slots = new FairSlots({ most: mostAtOnce, mostPerKey: mostOfUser })
  readonly #running = new Map<string, Promise<PicturePlan>>()
  readonly #plans = new LRUCache<string, PicturePlan>({
    maxSize: mostPieces,
    sizeCalculation: (plan) => (plan.kind === 'cleaned' ? 1 + plan.pieces.length : 1),
  })

  /**
   * Returns the plan of a file.
   *
   * @param source its reading ends with the signal
   * @param signal aborted when nobody waits any more
   * @throws only the errors of the source; the reason of the signal
   */
  async for(
    { userUuid, path, revision }: PictureFile,
    source: PictureSource,
    signal: AbortSignal,
  ): Promise<PicturePlan> {
    const key = JSON.stringify([userUuid, path, revision])
    for (;;) {
      const known = this.#plans.get(key)
      if (known !== undefined) return known
      const running = this.#running.get(key)
      if (running === undefined) break
      // Its source may be that of a link that has ended, or of a guest who has left, so its failure is not one of this source.
      const shared = await untilAborted(
        running.catch(() => null),
        signal,
      )
      if (shared !== null) return shared
    }
    const plan = this.#slots.run(userUuid, async () => {
      signal.throwIfAborted()
      return planPicture(nameOf(path), source)
    })
    this.#running.set(key, plan)
    try {
      const made = await plan
      this.#plans.set(key, made)
      return made
    } finally {
      this.#running.delete(key)
    }
  }
}
