// In a process of its own: the library that makes the pictures keeps threads.
import { ok } from 'node:assert/strict'
import sharp, { type Sharp } from 'sharp'
import t, { test } from 'tap'
import { createPreviewNode, preview, put } from '../fixtures/preview-node.ts'

const node = await createPreviewNode({ config: { previews: { background: false } } })
t.teardown(() => node.stop())
const ada = await node.signIn()

const red = [255, 0, 0] as const
const blue = [0, 0, 255] as const

/** A picture whose left half is red, and whose right half is blue. */
function halves(width = 400, height = 200): Sharp {
  const pixels = Buffer.alloc(width * height * 3)
  for (let at = 0; at < width * height; at += 1) pixels.set(at % width < width / 2 ? red : blue, at * 3)
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

/** Stores a picture, and returns its preview: the sides, and a function that returns a pixel. */
async function previewOf(content: Buffer) {
  await put(ada, '/picture', Buffer.from(content))
  const answer = await preview(ada, '/picture')
  ok(answer.ok, await answer.clone().text())
  const bytes = Buffer.from(await answer.arrayBuffer())
  const metadata = await sharp(bytes).metadata()
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  const at = (x: number, y: number) => {
    const start = (Math.floor(y * height) * width + Math.floor(x * width)) * channels
    return [...data.subarray(start, start + channels)]
  }
  return { width, height, at, metadata }
}

function isNear(one: readonly number[], other: readonly number[], most = 24): boolean {
  return one.length === other.length && one.every((value, at) => Math.abs(value - (other[at] ?? 0)) <= most)
}

test('each orientation of a photo is upright', async (t) => {
  // The place where the red half is, by the orientation that the file names.
  const redAt: Record<number, readonly [number, number]> = {
    1: [0.1, 0.5],
    2: [0.9, 0.5],
    3: [0.9, 0.5],
    4: [0.1, 0.5],
    5: [0.5, 0.1],
    6: [0.5, 0.1],
    7: [0.5, 0.9],
    8: [0.5, 0.9],
  }
  for (const [orientation, [x, y]] of Object.entries(redAt)) {
    const photo = await halves()
      .jpeg()
      .withMetadata({ orientation: Number(orientation) })
      .toBuffer()
    const { width, height, at } = await previewOf(photo)
    t.strictSame([width, height], Number(orientation) < 5 ? [256, 128] : [128, 256], `${orientation}: sides`)
    t.ok(isNear(at(x, y), red), `${orientation}: ${at(x, y)}`)
    t.ok(isNear(at(1 - x, 1 - y), blue), `${orientation}: ${at(1 - x, 1 - y)}`)
  }
})

test('colors of other profiles and forms are those that people see', async (t) => {
  const forms: Record<string, Buffer> = {
    'Display P3': await halves().withIccProfile('p3').png().toBuffer(),
    CMYK: await halves().toColourspace('cmyk').withIccProfile('cmyk').jpeg().toBuffer(),
    '16 bits': await halves().toColourspace('rgb16').png().toBuffer(),
    'a palette': await halves().png({ palette: true }).toBuffer(),
  }
  for (const [form, content] of Object.entries(forms)) {
    const { at, metadata } = await previewOf(content)
    // Inks have no pure blue.
    const most = form === 'CMYK' ? 140 : 60
    t.ok(isNear(at(0.1, 0.5), red, most), `${form}: ${at(0.1, 0.5)}`)
    t.ok(isNear(at(0.9, 0.5), blue, most), `${form}: ${at(0.9, 0.5)}`)
    t.equal(metadata.icc, undefined, `${form}: without a profile`)
  }
  const gray = await previewOf(await halves().grayscale().jpeg().toBuffer())
  t.ok(isNear(gray.at(0.1, 0.5).slice(0, 3), new Array(3).fill(gray.at(0.1, 0.5)[0])), 'gray stays gray')
})

test('what is transparent stays so', async (t) => {
  const picture = halves().joinChannel(Buffer.alloc(400 * 200, 0), {
    raw: { width: 400, height: 200, channels: 1 },
  })
  const { at } = await previewOf(await picture.png().toBuffer())
  t.equal(at(0.5, 0.5)[3], 0)
})

test('the first frame of a moving picture counts', async (t) => {
  const frames = [red, blue].map(([r, g, b]) => ({
    create: { width: 300, height: 300, channels: 3 as const, background: { r, g, b } },
  }))
  const pictures = await Promise.all(frames.map((input) => sharp(input).png().toBuffer()))
  const moving = sharp(pictures, { join: { animated: true } })
  for (const content of [await moving.clone().gif().toBuffer(), await moving.clone().webp().toBuffer()]) {
    const { width, height, at } = await previewOf(content)
    t.strictSame([width, height], [256, 256])
    t.ok(isNear(at(0.5, 0.5), red), `${at(0.5, 0.5)}`)
  }
})

test('a preview tells nothing beside its pixels, and is not enlarged', async (t) => {
  const photo = halves(100, 50)
    .jpeg()
    .withExif({ IFD0: { Make: 'Acme' } })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"/>')
  const { width, height, metadata } = await previewOf(await photo.toBuffer())
  t.strictSame([width, height], [100, 50])
  t.strictSame(
    [metadata.exif, metadata.xmp, metadata.icc, metadata.iptc],
    [undefined, undefined, undefined, undefined],
  )
})
