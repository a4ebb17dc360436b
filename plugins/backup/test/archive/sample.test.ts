import fc from 'fast-check'
import { test } from 'tap'
import { Sample, type SampleRule } from '../../src/archive/sample.ts'

const rule: SampleRule = {
  drawn: ['files/local', 'files/disk2'],
  without: ['files/memory'],
  share: 0.5,
  maxBytes: 1000,
  seed: 'seed',
}

function file(path: string, size: number) {
  return { path, type: 'file', size } as const
}

function sampled(entries: readonly ReturnType<typeof file>[], changes: Partial<SampleRule> = {}): string[] {
  const sample = new Sample({ ...rule, ...changes })
  return entries.filter((entry) => sample.includes(entry)).map(({ path }) => path)
}

test('everything but the files of users is in a sample', async (t) => {
  const sample = new Sample(rule)
  for (const path of ['backup.json', 'state/state.sqlite', 'files/localhost/x', 'files'])
    t.ok(sample.includes(file(path, 2 ** 40)), path)
  t.ok(sample.includes({ path: 'configuration', type: 'directory', size: 0 }))
  for (const path of ['files/local', 'files/local/ada', 'files/disk2/ada/notes'])
    t.notOk(sample.includes({ path, type: 'directory', size: 0 }), `the folder ${path}`)
  for (const path of ['files/memory', 'files/memory/ada/a']) t.notOk(sample.includes(file(path, 0)), path)
})

test('a sample has the first file that fits of each user on each storage, and never more bytes than it may', async (t) => {
  const entry = fc
    .record({
      storage: fc.constantFrom('local', 'disk2'),
      user: fc.constantFrom('ada', 'bob', 'eve'),
      name: fc.stringMatching(/^[a-z]{1,5}(\/[a-z]{1,5})?$/),
      size: fc.integer({ min: 0, max: 600 }),
    })
    .map(({ storage, user, name, size }) => ({ home: `files/${storage}/${user}`, name, size }))
  const entries = fc.uniqueArray(entry, { selector: ({ home, name }) => `${home}/${name}` })
  fc.assert(
    fc.property(entries, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const sample = new Sample({ ...rule, share })
      const homes = new Set<string>()
      let left = rule.maxBytes
      for (const { home, name, size } of all) {
        const isIn = sample.includes(file(`${home}/${name}`, size))
        if (isIn ? size > left : size <= left && !homes.has(home)) return false
        if (!isIn) continue
        homes.add(home)
        left -= size
      }
      return true
    }),
  )
  t.pass('of any archive')
})

test('a seed draws the same files again, and another seed others, about as many as it should', async (t) => {
  const entries = Array.from({ length: 1000 }, (_, index) => file(`files/local/ada/${index}`, 1))
  const one = sampled(entries)
  t.strictSame(sampled(entries), one)
  const other = sampled(entries, { seed: 'another' })
  t.notSame(other, one)
  for (const { length } of [one, other]) t.ok(length > 400 && length < 600, `${length} of 1000`)
  t.equal(sampled(entries, { share: 1 }).length, 1000)
  t.equal(sampled(entries, { share: 0 }).length, 1)
  t.equal(sampled(entries, { share: 1, maxBytes: 17 }).length, 17)
})
