import fc from 'fast-check'
import t from 'tap'
import { BoundedCache } from '../../src/cache/bounded-cache.ts'

const most = 10

/** The same by the book: entries with what was used last at the end. */
class Model {
  #entries: { key: string; value: number; weight: number }[] = []

  get(key: string): number | undefined {
    const found = this.#entries.find((entry) => entry.key === key)
    if (found !== undefined) this.#entries = [...this.#entries.filter((entry) => entry !== found), found]
    return found?.value
  }

  set(key: string, value: number, weight: number): void {
    this.delete(key)
    if (weight > most) return
    this.#entries.push({ key, value, weight })
    while (this.#entries.reduce((sum, entry) => sum + entry.weight, 0) > most) this.#entries.shift()
  }

  delete(key: string): void {
    this.#entries = this.#entries.filter((entry) => entry.key !== key)
  }
}

const key = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.oneof(
  fc.record({ op: fc.constant('get' as const), key }),
  fc.record({ op: fc.constant('delete' as const), key }),
  fc.record({ op: fc.constant('set' as const), key, weight: fc.integer({ min: 1, max: 12 }) }),
)

t.test('what was used last is kept, and never more than the total', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const [cache, model] = [new BoundedCache<string, number>(most), new Model()]
      return steps.every((step, index) => {
        if (step.op === 'get') return cache.get(step.key) === model.get(step.key)
        for (const each of [cache, model]) {
          if (step.op === 'set') each.set(step.key, index, step.weight)
          else each.delete(step.key)
        }
        return true
      })
    }),
  )
})
