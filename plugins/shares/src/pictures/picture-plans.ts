import { LRUCache } from 'lru-cache'
import type { PictureSource } from './picture-bytes.ts'
import { type PicturePlan, planPicture } from './plan-picture.ts'

/** Most pieces of all plans that are kept: some MB of memory. */
const mostPieces = 50_000

/** Plans pictures, and keeps the plans that were used last: a player of ranges, and one who looks first, do not make the node read a file again. */
export class PicturePlans {
  readonly #plans = new LRUCache<string, PicturePlan>({
    maxSize: mostPieces,
    sizeCalculation: (plan) => (plan.kind === 'cleaned' ? 1 + plan.pieces.length : 1),
  })

  /**
   * Returns the plan of a file.
   *
   * @param key names the content and the name, such as user, entry, revision and name
   * @throws only the errors of the source
   */
  async for(key: string, name: string, source: PictureSource): Promise<PicturePlan> {
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = await planPicture(name, source)
    this.#plans.set(key, plan)
    return plan
  }
}
