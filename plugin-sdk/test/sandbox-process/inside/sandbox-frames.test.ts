import { BodyReader, type Frame, FrameCollector, frameHead } from '@nodekeep/plugin-sdk/sandbox-frames'
import { test } from 'tap'

const texts = (frames: readonly Frame[]) => frames.map(({ header, body }) => [header, body.toString()])

test('Frames arrive whole, wherever their bytes are cut', async (t) => {
  const bytes = Buffer.concat([
    frameHead({ order: 'é' }, 3),
    Buffer.from('abc'),
    frameHead(null, 0),
    frameHead([1], 1),
    Buffer.from('d'),
  ])
  const expected = [
    [{ order: 'é' }, 'abc'],
    [null, ''],
    [[1], 'd'],
  ]
  for (let size = 1; size <= bytes.length; size += 1) {
    const collector = new FrameCollector()
    const frames: Frame[] = []
    for (let at = 0; at < bytes.length; at += size) {
      // The memory of a chunk may be used again.
      const chunk = Buffer.from(bytes.subarray(at, at + size))
      frames.push(...collector.push(chunk))
      chunk.fill(0)
    }
    t.strictSame(texts(frames), expected, `${size} bytes at a time`)
  }
})

test('A frame that is too large, empty or no JSON is refused', async (t) => {
  const collector = new FrameCollector()
  collector.largest = 20
  const frames = collector.push(Buffer.concat([frameHead([], 0), frameHead({}, 11)]))
  t.strictSame(frames.next().value?.header, [], 'after the one before it')
  t.throws(() => frames.next(), RangeError)
  t.throws(() => [...new FrameCollector().push(Buffer.alloc(8))], RangeError)
  const head = frameHead({}, 0)
  head.write('[', 8)
  t.throws(() => [...new FrameCollector().push(head)], SyntaxError)
})

test('A body gives its parts in their order, and never more bytes than it has', async (t) => {
  const reader = new BodyReader(Buffer.from('abcdef'))
  t.strictSame(
    [2, 0, 3].map((size) => reader.take(size).toString()),
    ['ab', '', 'cde'],
  )
  for (const size of [2, -1, 0.5, Number.NaN, 2 ** 40, '1' as unknown as number]) {
    t.throws(() => reader.take(size), RangeError, String(size))
  }
  t.equal(reader.take(1).toString(), 'f')
})
