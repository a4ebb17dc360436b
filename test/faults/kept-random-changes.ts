import type { KeptChange, KeptModel } from './kept-model.ts'
import type { Random } from './random.ts'

/** Draws changes that often concern the same few paths. No content comes twice. */
export class RandomChanges {
  readonly #random: Random
  #written = 0

  constructor(random: Random) {
    this.#random = random
  }

  /**
   * Draws a change. It may be impossible.
   *
   * @param groups that may be taken back, the newest last
   * @returns null if there is nothing to which such a change could be made
   */
  draw(model: KeptModel, groups: readonly { readonly name: string }[]): KeptChange | null {
    const random = this.#random
    const { tree, items } = model
    const path = this.#path()
    const oneOf = (paths: readonly string[]) =>
      paths.length === 0 ? path : random.pick(paths as [string, ...string[]])
    const taken = () => oneOf([...tree.keys()])
    const files = [...tree.keys()].filter((each) => tree.get(each)?.content !== null)
    const file = oneOf([...tree.keys()].filter((each) => model.versions(each).length > 0))
    const versions = model.versions(file).length
    const index = (count: number) => random.integer(0, count - 1)
    const roll = random.integer(1, 27)
    if (roll <= 8)
      return { op: 'write', path: random.chance(0.6) ? path : oneOf(files), content: this.#content() }
    if (roll <= 9) return tree.has(path) ? null : { op: 'mkdir', path }
    if (roll <= 12) return { op: 'delete', path: taken(), permanent: false }
    if (roll <= 13) return { op: 'delete', path: taken(), permanent: true }
    if (roll <= 16) return { op: 'move', source: taken(), path: random.chance(0.5) ? path : taken() }
    if (roll <= 17) return { op: 'copy', source: taken(), path }
    if (roll <= 20) {
      if (items.length === 0) return null
      return { op: 'restore', index: index(items.length), path: random.chance(0.5) ? path : null }
    }
    if (roll <= 22)
      return versions === 0 ? null : { op: 'restore version', path: file, index: index(versions) }
    if (roll <= 23)
      return versions === 0 ? null : { op: 'delete version', path: file, index: index(versions) }
    if (roll <= 24) return items.length === 0 ? null : { op: 'delete item', index: index(items.length) }
    if (roll <= 25) return random.chance(0.3) ? { op: 'empty trash' } : null
    const group = groups.at(random.chance(0.7) ? -1 : -random.integer(2, 4))
    return group === undefined ? null : { op: 'undo', group: group.name }
  }

  #path(): string {
    const names = Array.from({ length: this.#random.integer(1, 2) + this.#random.integer(0, 1) }, () =>
      this.#random.pick(['a', 'b', 'c']),
    )
    return `/${names.join('/')}`
  }

  #content(): string {
    this.#written += 1
    return `${this.#random.integer(20, 200)}:${this.#written};`
  }
}
