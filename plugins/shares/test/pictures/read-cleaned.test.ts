import fc from 'fast-check'
import { test } from 'tap'
import type { Piece } from '../../src/pictures/cleaned-picture.ts'
import { readCleaned } from '../../src/pictures/read-cleaned.ts'
import { sourceOf } from './fixtures/source-of.ts'

test('each range has the bytes that it has in what goes out', async () => {
  const content = Buffer.from(Array.from({ length: 200 }, (_, at) => at))
  const kept = fc
    .tuple(fc.integer({ min: 0, max: 199 }), fc.integer({ min: 1, max: 200 }))
    .map(([start, count]) => ({ start, end: Math.min(start + count, 200) }))
  const piece: fc.Arbitrary<Piece> = fc.oneof(kept, fc.uint8Array({ minLength: 1, maxLength: 20 }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 1, maxLength: 6 }),
      fc.nat(),
      fc.nat(),
      fc.integer({ min: 1, max: 64 }),
      async (pieces, from, count, chunkBytes) => {
        const whole = Buffer.concat(
          pieces.map((part) => (part instanceof Uint8Array ? part : content.subarray(part.start, part.end))),
        )
        const { length } = whole
        const start = from % length
        const end = start + (count % (length - start))
        const parts: Buffer[] = []
        const source = sourceOf(content, chunkBytes)
        for await (const chunk of readCleaned({ length, pieces }, source, { start, end }))
          parts.push(Buffer.from(chunk))
        return Buffer.concat(parts).equals(whole.subarray(start, end + 1)) && source.open === 0
      },
    ),
    { numRuns: 300 },
  )
})

test('a reader that leaves closes the file', async (t) => {
  const source = sourceOf(Buffer.alloc(100), 10)
  for await (const _chunk of readCleaned({ length: 100, pieces: [{ start: 0, end: 100 }] }, source)) break
  t.equal(source.open, 0)
  t.equal(source.bytes, 10)
})
