/**
 * How many pieces of a provider that has them at hand are taken in one turn of the event loop, but for the first, which
 * is alone in its own.
 */
const leastInATurn = 16
const mostInATurn = 128

/**
 * Shares the event loop among replies. Each may take as much in a turn as it has had before: the first pieces of many
 * replies come soon, and later ones in large batches.
 */
export class Turns {
  #end = 1

  /**
   * Takes a piece now, or in a later turn.
   *
   * @param had how many pieces the reply has had
   */
  take(had: number, pull: () => void): void {
    if (had < this.#end) {
      pull()
      return
    }
    this.#end = had + Math.min(Math.max(had, leastInATurn), mostInATurn)
    setImmediate(pull)
  }
}
