import fc from 'fast-check'
import t from 'tap'
import { foldersAbove, isBelow, isWithin, type UserPath } from '../../src/paths/user-path.ts'
import { PathSet } from '../../src/undo/path-set.ts'

t.test('any paths are found at a path, above it and below it', async (t) => {
  // The characters before and after the slash in the order of code units.
  const name = fc.string({ unit: fc.constantFrom('a', '.', '0', '!'), minLength: 1, maxLength: 2 })
  const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join('/')}` as UserPath)
  fc.assert(
    fc.property(fc.array(path, { maxLength: 20 }), path, path, (all, asked, deleted) => {
      const set = new PathSet()
      for (const one of all) set.add(one)
      set.delete(deleted)
      const paths = all.filter((one) => one !== deleted)
      const above = foldersAbove(asked).find((folder) => paths.includes(folder))
      const atOrAbove = paths.includes(asked) ? asked : above
      const below = set.below(asked)
      t.equal(set.above(asked), above)
      t.equal(set.atOrAbove(asked), atOrAbove)
      const isBelowAsked = (one: UserPath) => isBelow(one, asked)
      t.equal(below !== undefined, paths.some(isBelowAsked))
      if (below !== undefined) t.ok(paths.includes(below) && isBelowAsked(below))
      const within = paths.filter((one) => isWithin(one, asked))
      t.same(new Set(set.within(asked)), new Set(within))
      t.equal(set.overlapping(asked), atOrAbove ?? below)
    }),
  )
})

t.test(
  'thousands of paths with thousands of folders above them take memory for the paths only',
  async (t) => {
    const deep = '/a'.repeat(1990)
    const set = new PathSet()
    const before = process.memoryUsage().heapUsed
    for (let number = 0; number < 1000; number += 1) set.add(`/${number}${deep}` as UserPath)
    t.ok(process.memoryUsage().heapUsed - before < 50_000_000)
    t.equal(set.below(`/500${deep.slice(0, 1000)}` as UserPath), `/500${deep}`)
    t.equal(set.above(`/500${deep}/b` as UserPath), `/500${deep}`)
  },
)
