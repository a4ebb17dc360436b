import fc from 'fast-check'
import { test } from 'tap'
import { type FrameReader, FrameSplitter, FrameWriter } from '../../src/protocol/frames.ts'
import { same } from '../fixtures/same.ts'

const long = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const values = fc.array(fc.oneof(fc.double(), fc.bigInt(long), fc.constantFrom(-0, 0, Number.NaN)))
const text = fc.string({ unit: 'grapheme' })
const messages = fc.array(fc.record({ kind: fc.nat(255), text, values }), { minLength: 1 })

test('frames arrive as they were sent, even if the stream is cut at any byte', async () => {
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sent, sizes) => {
      const writer = new FrameWriter()
      for (const message of sent) {
        writer.begin(message.kind)
        writer.text(message.text)
        writer.numbers(message.values)
        writer.finish()
      }
      const received = cut(writer.take(), sizes, (frame) => ({
        kind: frame.kind,
        text: frame.text(),
        values: frame.numbers(),
      }))
      return same(received, sent)
    }),
  )
})

test('bytes that follow a frame belong to that frame', async (t) => {
  const writer = new FrameWriter()
  const bytes = Buffer.alloc(200_000, 'module')
  writer.begin(1)
  writer.uint32(7)
  writer.finish(bytes.length)
  const stream = Buffer.concat([writer.take(), bytes])
  for (const size of [1000, 65_536, 1_000_000]) {
    const [received] = cut(stream, [size], (frame) => [frame.uint32(), Buffer.from(frame.rest())])
    t.strictSame(received, [7, bytes], `the stream arrives in pieces of ${size} bytes`)
  }
})

test('a frame that is too long or empty is refused before it arrives', async (t) => {
  const splitter = new FrameSplitter(100)
  const lengths = [101, 0, 2 ** 32 - 1]
  for (const length of lengths) {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(length)
    t.throws(() => splitter.push(bytes, () => {}), RangeError)
  }
})

/** Splits a stream that arrives in chunks of these sizes, in turn, in memory that is reused. */
function cut<T>(stream: Buffer, sizes: readonly number[], read: (frame: FrameReader) => T): T[] {
  const received: T[] = []
  const splitter = new FrameSplitter(stream.length)
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    const chunk = Buffer.from(stream.subarray(at, at + size))
    splitter.push(chunk, (frame) => received.push(read(frame)))
    chunk.fill(0xff)
    at += size
  }
  return received
}
