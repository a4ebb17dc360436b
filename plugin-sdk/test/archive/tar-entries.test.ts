import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { test } from 'tap'
import { archiveFailure } from '../../src/archive/archive-failure.ts'
import { ByteReader } from '../../src/archive/byte-reader.ts'
import { inflate } from '../../src/archive/inflate.ts'
import { readTar } from '../../src/archive/tar-entries.ts'
import { pax, tarOf } from './fixtures/archives.ts'

// A thread for each case would take minutes, so this test reads archives in its own.

test('a damaged archive is refused, or gives exactly what was packed', async (t) => {
  const archive = tarOf(
    { path: 'a', body: 'alpha '.repeat(50) },
    pax({ path: 'ü/b' }),
    { path: 'b', body: 'beta' },
    { path: 'c/', type: 'Directory' },
  )
  const gzip = Buffer.concat([gzipSync(archive.subarray(0, 1500)), gzipSync(archive.subarray(1500))])
  const entries = async (stored: Uint8Array) => {
    const found: unknown[] = []
    for await (const { content, ...entry } of readTar(
      new ByteReader(inflate(Readable.from([stored]), 1_000_000)),
    )) {
      found.push(entry, await text(content))
    }
    return JSON.stringify(found)
  }
  const whole = await entries(gzip)
  let refused = 0
  const { length } = gzip
  const fault = fc.oneof(
    fc.record({ kind: fc.constant('flip'), at: fc.nat(length - 1), bit: fc.nat(7) }),
    fc.record({ kind: fc.constant('cut'), at: fc.nat(length - 1), bit: fc.constant(0) }),
    fc.record({ kind: fc.constant('insert'), at: fc.nat(length), bit: fc.nat(7) }),
    fc.record({ kind: fc.constant('repeat'), at: fc.nat(length - 1), bit: fc.constant(0) }),
  )
  await fc.assert(
    fc.asyncProperty(fault, async ({ kind, at, bit }) => {
      const [head, tail] = [gzip.subarray(0, at), gzip.subarray(at)]
      const flipped = Buffer.from(tail)
      flipped[0] = (flipped[0] ?? 0) ^ (1 << bit)
      const damaged = {
        flip: [head, flipped],
        cut: [head],
        insert: [head, Buffer.of(1 << bit), tail],
        repeat: [head, tail, tail],
      }[kind] as Buffer[]
      try {
        return (await entries(Buffer.concat(damaged))) === whole
      } catch (error) {
        refused += 1
        return archiveFailure(error)?.code === 'VALIDATION_ERROR'
      }
    }),
    { numRuns: 500 },
  )
  t.ok(refused > 400, `${refused} of 500 were refused`)
})
