// In a process of its own: the library that makes the pictures keeps threads.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import fc from 'fast-check'
import sharp from 'sharp'
import { test } from 'tap'
import { exifBlock, gifExtension, pngChunk, riffChunk, secret, segment } from './fixtures/camera-data.ts'
import { checkCleaned, tagsThatExiftoolFinds } from './fixtures/check-cleaned.ts'
import { cleaned, cleanedBytes } from './fixtures/cleaned.ts'
import { basePictures, generatedPicture } from './fixtures/generated-pictures.ts'

// `npm run test:faults -- cleaned-pictures` has 10,000 pictures.

test('pictures leave without data of cameras, and with their pixels', {
  skip: needsPrograms('exiftool'),
}, async (t) => {
  const folder = t.testdir()
  let count = 0
  await fc.assert(
    fc.asyncProperty(generatedPicture(), fc.integer({ min: 1, max: 500 }), async (picture, chunks) => {
      const after = await checkCleaned(picture, chunks)
      count += 1
      await writeFile(join(folder, `${count}.${picture.base.format}`), after)
    }),
    { numRuns: 100, endOnFailure: true },
  )
  const { files, tags } = await tagsThatExiftoolFinds(folder)
  t.equal(files, count)
  t.strictSame(tags, [])
})

test('exiftool finds the data in what is shared as it is', { skip: needsPrograms('exiftool') }, async (t) => {
  const folder = t.testdir()
  const [picture] = fc.sample(generatedPicture(['jpeg']), 1)
  await writeFile(join(folder, 'picture.jpg'), picture?.bytes ?? '')
  const { tags } = await tagsThatExiftoolFinds(folder)
  for (const tag of ['IFD0:Make', 'GPS:GPSLatitude', 'ExifIFD:DateTimeOriginal'])
    t.ok(
      tags.some((found) => found.endsWith(tag)),
      tag,
    )
})

for (const [name, { bytes, format }] of basePictures) {
  test(`a part of a picture does not leave: ${name}`, async (t) => {
    const step = Math.ceil(bytes.length / 300)
    for (let length = 0; length < bytes.length; length += bytes.length - length > 30 ? step : 1) {
      const part = bytes.subarray(0, length)
      if ((await cleaned(part, `picture.${format}`)) !== 'broken') {
        t.fail(`${length} of ${bytes.length} bytes`)
        return
      }
    }
    t.ok((await cleanedBytes(bytes)).length > 0)
  })
}

test('a damaged picture stays, or leaves without its data', async () => {
  const damage = fc.record({
    at: fc.nat(),
    remove: fc.integer({ min: 0, max: 40 }),
    insert: fc.uint8Array({ maxLength: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(
      generatedPicture(),
      fc.array(damage, { minLength: 1, maxLength: 4 }),
      async (picture, damages) => {
        let bytes = picture.bytes
        for (const { at, remove, insert } of damages) {
          const start = at % bytes.length
          bytes = Buffer.concat([bytes.subarray(0, start), insert, bytes.subarray(start + remove)])
        }
        const after = await cleaned(bytes)
        if (typeof after === 'string') return
        const again = await cleaned(after)
        if (typeof again === 'string' || !again.equals(after))
          throw new Error('A clean picture is not clean.')
        const { exif, xmp, iptc } = await sharp(after, { failOn: 'none' })
          .metadata()
          .catch(() => ({ exif: undefined, xmp: undefined, iptc: undefined }))
        if (xmp || iptc || (exif && exif.length > 32)) throw new Error('A picture left with its data.')
      },
    ),
    { numRuns: 200 },
  )
})

test('the format is told by the bytes, and by the name where the bytes tell none', async (t) => {
  const jpeg = basePictures.get('jpeg')?.bytes ?? Buffer.alloc(0)
  const photo = Buffer.concat([jpeg.subarray(0, 2), segment(0xfe, Buffer.from(secret)), jpeg.subarray(2)])
  for (const name of ['photo.jpg', 'photo.txt', 'photo', 'photo.mp4'])
    t.notOk((await cleanedBytes(photo, name)).includes(secret), name)
  const text = Buffer.from(`Only ${secret}`)
  t.same(await cleaned(text, 'letter.txt'), text)
  for (const name of [
    'letter.jpg',
    'LETTER.JPEG',
    'letter.heic',
    'letter.dng',
    'letter.webp',
    'letter.wdp',
    'letter.HDP',
    'letter.jxr',
    'letter.bpg',
    'letter.flif',
  ])
    t.equal(await cleaned(text, name), 'broken', name)
  const hidden = Buffer.concat([Buffer.from('junk'), photo])
  t.equal(await cleaned(hidden, 'photo.jpg'), 'broken')
})

test('formats that the node cannot clean stay', async (t) => {
  const heads: Record<string, string> = {
    'HEIC of a phone': '\0\0\0\x18ftypheic\0\0\0\0mif1heic',
    'HEIC by its second brand': '\0\0\0\x1cftypmif1\0\0\0\0mif1miafheic',
    AVIF: '\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf',
    'raw of Canon': '\0\0\0\x18ftypcrx \0\0\0\x01crx isom',
    TIFF: 'II*\0\x08\0\0\0',
    'TIFF, the other way round': 'MM\0*\0\0\0\x08',
    'JPEG XL': '\xff\x0a\xfa\x3f',
    'JPEG XL in boxes': '\0\0\0\x0cJXL \r\n\x87\n',
    'JPEG 2000': '\0\0\0\x0cjP  \r\n\x87\n',
    'JPEG XR': 'II\xbc\x01\x08\0\0\0',
    BPG: 'BPG\xfb\x20\0',
    FLIF: 'FLIF31\0\0',
    'raw of older cameras by Canon': 'II\x1a\0\0\0HEAPCCDR\x02\0\x01\0',
    Photoshop: '8BPS\0\x01',
  }
  for (const [format, head] of Object.entries(heads))
    t.equal(await cleaned(Buffer.from(head, 'latin1'), 'file'), 'format', format)
  const video = Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1')
  t.same(await cleaned(video, 'video.mp4'), video, 'a video is no picture')
})

test('a file of XMP beside a picture stays', async (t) => {
  const meta = `<x:xmpmeta xmlns:x="adobe:ns:meta/">${secret}</x:xmpmeta>`
  for (const start of [
    '',
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    '\ufeff<?xpacket begin="" id="W5M0"?>\n',
  ])
    t.equal(await cleaned(Buffer.from(`${start}${meta}`), 'photo.txt'), 'sidecar', start)
  t.equal(await cleaned(Buffer.from(secret), 'photo.jpg.XMP'), 'sidecar')
  const page = Buffer.from('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>')
  t.same(await cleaned(page, 'drawing.svg'), page, 'other XML goes out')
})

test('the numbers that decoders need stay in a JPEG, and previews go', async (t) => {
  const jpeg = basePictures.get('jpeg')?.bytes ?? Buffer.alloc(0)
  const withSegment = (marker: number, content: string) =>
    Buffer.concat([jpeg.subarray(0, 2), segment(marker, Buffer.from(content, 'latin1')), jpeg.subarray(2)])
  const jfif = withSegment(0xe0, 'JFIF\0\x01\x02\x01\0\x48\0\x48\0\0')
  t.same(await cleanedBytes(jfif), jfif)
  t.same(await cleanedBytes(withSegment(0xe0, 'JFIF\0\x01\x02\x01\0\x48\0\x48\x01\x01abc')), jfif)
  const adobe = withSegment(0xee, 'Adobe\0\x64\0\0\0\0\x01')
  t.same(await cleanedBytes(adobe), adobe)
  t.same(await cleanedBytes(withSegment(0xee, `Adobe\0\x64\0\0\0\0\x01${secret}`)), adobe)
})

test('hostile JPEGs stay', async (t) => {
  const jpeg = basePictures.get('jpeg')?.bytes ?? Buffer.alloc(0)
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]))
  const frameSegment = jpeg.subarray(frame, frame + 2 + jpeg.readUInt16BE(frame + 2))
  const put = (insert: Buffer) =>
    cleaned(Buffer.concat([jpeg.subarray(0, frame), insert, jpeg.subarray(frame)]))
  t.equal(await put(frameSegment), 'broken', 'a second frame')
  t.equal(await put(Buffer.from([0xff, 0xd8])), 'broken', 'a second start')
  t.equal(await put(Buffer.from([0xff, 0xf0, 0, 2])), 'broken', 'an unknown marker')
  t.equal(await put(Buffer.from([0xff, 0xe1, 0, 1])), 'broken', 'a segment that is shorter than its length')
  t.equal(await put(Buffer.from([0xff, 0xd9])), 'broken', 'an end without pixels')
  t.equal(
    await put(segment(0xdb, Buffer.alloc(65)).subarray(0, 10)),
    'broken',
    'a length that leads elsewhere',
  )
  const many = Buffer.concat(
    Array.from({ length: 1100 }, () =>
      Buffer.concat([segment(0xfe, Buffer.from('a')), segment(0xdd, Buffer.alloc(2))]),
    ),
  )
  t.equal(await put(many), 'broken', 'too many pieces')
})

test('hostile PNGs, WebPs and GIFs stay', async (t) => {
  const png = basePictures.get('png')?.bytes ?? Buffer.alloc(0)
  const put = (insert: Buffer) => cleaned(Buffer.concat([png.subarray(0, 33), insert, png.subarray(33)]))
  t.equal(await put(pngChunk('CgBI', Buffer.alloc(4))), 'broken', 'an unknown chunk that decoders must know')
  t.equal(await put(pngChunk('IHDR', Buffer.alloc(13))), 'broken', 'a second head')
  t.equal(await put(pngChunk('IEND', Buffer.alloc(0))), 'broken', 'an end without pixels')
  t.equal(await put(pngChunk('a\0bc', Buffer.from(secret))), 'broken', 'a type that is none')
  t.same(await put(pngChunk('pHYs', Buffer.from(secret))), png, 'a chunk that is too long for its type')
  const webp = basePictures.get('webp')?.bytes ?? Buffer.alloc(0)
  const longer = Buffer.from(webp)
  longer.writeUInt32LE(webp.length, 4)
  t.equal(await cleaned(longer), 'broken', 'a length behind the end')
  t.equal(await cleaned(Buffer.concat([webp.subarray(0, 12)])), 'broken', 'no chunks')
  const gif = basePictures.get('gif')?.bytes ?? Buffer.alloc(0)
  const end = gif.length - 1
  const empty = Buffer.concat([
    gif.subarray(0, end),
    gifExtension(0xff),
    gifExtension(0xfe, Buffer.from(secret)),
    gif.subarray(end),
  ])
  t.same(await cleaned(empty), gif, 'an application without a name')
  t.equal(
    await cleaned(Buffer.concat([gif.subarray(0, end), Buffer.from([0x99]), gif.subarray(end)])),
    'broken',
  )
})

test('flags and sizes of a WebP are those of what stays', async (t) => {
  const simple = basePictures.get('webp')?.bytes ?? Buffer.alloc(0)
  t.equal(simple.toString('latin1', 12, 16), 'VP8 ')
  const behind = Buffer.concat([simple, riffChunk('EXIF', exifBlock(6, false))])
  t.same(await cleanedBytes(behind), simple, 'behind the end')
  behind.writeUInt32LE(behind.length - 8, 4)
  t.same(await cleanedBytes(behind), simple, 'in the simple format')

  const head = Buffer.alloc(10)
  head[0] = 0x0c
  head.set([23, 0, 0, 15, 0, 0], 4)
  const extended = (orientation: number) => {
    const parts = [
      simple.subarray(0, 12),
      riffChunk('VP8X', head),
      simple.subarray(12),
      riffChunk('EXIF', exifBlock(orientation, true)),
    ]
    const bytes = Buffer.concat(parts)
    bytes.writeUInt32LE(bytes.length - 8, 4)
    return bytes
  }
  const turned = await cleanedBytes(extended(6))
  t.equal(turned.readUInt32LE(4), turned.length - 8)
  t.equal(turned[20], 0x08)
  t.equal((await sharp(turned).metadata()).orientation, 6)
  const upright = await cleanedBytes(extended(1))
  t.equal(upright[20], 0)
  t.notOk(upright.includes('EXIF'))
})

test('data in the frames of a moving WebP go', async (t) => {
  const moving = basePictures.get('webp, moving')?.bytes ?? Buffer.alloc(0)
  const at = moving.indexOf('ANMF')
  const size = moving.readUInt32LE(at + 4)
  const content = moving.subarray(at + 8, at + 8 + size)
  for (const insert of [riffChunk('EXIF', exifBlock(6, true)), Buffer.from('odd')]) {
    const frame = riffChunk('ANMF', Buffer.concat([content, insert]))
    const bytes = Buffer.concat([moving.subarray(0, at), frame, moving.subarray(at + 8 + size)])
    bytes.writeUInt32LE(bytes.length - 8, 4)
    t.same(await cleanedBytes(bytes), moving)
  }
})
