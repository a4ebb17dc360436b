import { test } from 'tap'
import { type Pixels, scaleDown } from '../../src/sandbox/scale-down.ts'

/** Pixels whose colors say where they are. */
function pixels(width: number, height: number): Pixels {
  const rgba = new Uint8Array(4 * width * height)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) rgba.set([x, y, 100, 255], 4 * (y * width + x))
  }
  return { width, height, rgba }
}

test('Pixels are scaled down to no less than what is wanted', async (t) => {
  const large = pixels(200, 101)
  t.equal(scaleDown(large, 200), large)
  t.equal(scaleDown(large, 101), large)
  const half = scaleDown(large, 100)
  t.strictSame([half.width, half.height], [100, 50])
  t.strictSame(
    [...half.rgba.subarray(4 * 101, 4 * 102)],
    [3, 3, 100, 255],
    'the mean of 2, 3 and of 2, 3, rounded',
  )
  const third = scaleDown(large, 60)
  t.strictSame([third.width, third.height, third.rgba.length], [66, 33, 4 * 66 * 33])
  t.strictSame([...third.rgba.subarray(4 * 66, 4 * 67)], [1, 4, 100, 255])
  const narrow = pixels(200, 2)
  t.equal(scaleDown(narrow, 50), narrow, 'a picture keeps its rows')
})

test('A pixel counts as much as it is opaque', async (t) => {
  const rgba = Uint8Array.from([200, 0, 0, 255, 0, 0, 0, 0, 200, 0, 0, 255, 0, 0, 0, 0])
  t.strictSame([...scaleDown({ width: 2, height: 2, rgba }, 1).rgba], [200, 0, 0, 128])
  t.strictSame([...scaleDown({ width: 2, height: 2, rgba: new Uint8Array(16) }, 1).rgba], [0, 0, 0, 0])
})
