import { test } from 'tap'
import { factsIn, isWebp } from '../src/checked-answer.ts'
import { fixture } from './fixtures/preview-node.ts'

const whole = {
  width: 4000,
  height: 3000,
  taken: '2026-05-01T12:00:00',
  place: { latitude: 48.2, longitude: -16.4 },
  camera: 'Acme One',
}

test('facts of the right form are taken', async (t) => {
  t.strictSame(factsIn({ facts: whole }), whole)
  const least = { ...whole, taken: null, place: null, camera: null }
  t.strictSame(factsIn({ facts: least }), least)
})

test('whatever a decoder in hostile hands says, facts of another form are missing', async (t) => {
  for (const answer of [null, undefined, 7, 'x', [], {}, { facts: null }, { facts: 'x' }, { facts: {} }])
    t.equal(factsIn(answer), null, JSON.stringify(answer))
  for (const width of ['4000', 0, -1, 1.5, Number.NaN, 2 ** 40, null])
    t.equal(factsIn({ facts: { ...whole, width } }), null, `${width}`)
  const bad = {
    taken: ['2026-99-99T12:00:00', 'now', 7, '2026-05-01T12:00:00<script>'],
    place: [{}, { latitude: 91, longitude: 0 }, { latitude: '1', longitude: 2 }, [1, 2]],
    camera: [7, {}, '', '\0\n'],
  }
  for (const [name, values] of Object.entries(bad))
    for (const value of values)
      t.strictSame(
        factsIn({ facts: { ...whole, [name]: value } }),
        { ...whole, [name]: null },
        `${name}: ${value}`,
      )
  t.equal(factsIn({ facts: { ...whole, camera: `a\u0000${'b'.repeat(200)}` } })?.camera, `a${'b'.repeat(99)}`)
})

test('only WebP counts as a preview', async (t) => {
  t.ok(isWebp(fixture('webp.webp')))
  for (const other of [
    Buffer.alloc(0),
    Buffer.from('<svg/>'),
    fixture('png.png'),
    Buffer.from('RIFFxxxxWAVE'),
  ])
    t.notOk(isWebp(other))
})
