import { test } from 'tap'
import { FrameCollector, frameHead } from '../../../src/sandbox-process/inside/frame.ts'

const texts = (frames: ReturnType<FrameCollector['push']>) =>
  frames.map(({ header, body }) => [header, body.toString()])

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
    const frames = []
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
  t.throws(() => collector.push(frameHead({}, 11)), RangeError)
  t.throws(() => new FrameCollector().push(Buffer.alloc(8)), RangeError)
  const head = frameHead({}, 0)
  head.write('[', 8)
  t.throws(() => new FrameCollector().push(head), SyntaxError)
})
