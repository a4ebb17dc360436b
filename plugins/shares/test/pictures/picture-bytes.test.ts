import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import { PictureBytes } from '../../src/pictures/picture-bytes.ts'
import { planPicture } from '../../src/pictures/plan-picture.ts'
import { gifExtension, pngChunk, riffChunk, segment } from './fixtures/camera-data.ts'
import { cleaned } from './fixtures/cleaned.ts'
import { sourceOf } from './fixtures/source-of.ts'

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

test('what lies far behind is not read', async (t) => {
  const parts = [signature, pngChunk('IHDR', Buffer.alloc(13)), pngChunk('IDAT', Buffer.alloc(8_000_000))]
  const source = sourceOf(Buffer.concat([...parts, pngChunk('IEND', Buffer.alloc(0))]))
  const plan = await planPicture('picture.png', source)
  t.equal(plan.kind, 'cleaned')
  t.ok(source.bytes < 200_000, `${source.bytes} bytes were read`)
  t.equal(source.opened, 2)
  t.equal(source.open, 0)
})

test('bytes are read across chunks, and may be looked at first', async (t) => {
  const bytes = new PictureBytes(sourceOf(Buffer.from('0123456789'), 3))
  t.equal(String(await bytes.look(4)), '0123')
  t.equal(String(await bytes.take(5)), '01234')
  await bytes.skip(2)
  t.equal(bytes.position, 7)
  t.equal(String(await bytes.take(3)), '789')
  t.equal((await bytes.peek()).length, 0)
  await t.rejects(bytes.take(1), { message: 'A picture cannot be cleaned: broken' })
  await t.rejects(bytes.skip(-1), { message: 'A picture cannot be cleaned: broken' })
  await bytes.close()
})

test('other work has its turn while a picture is planned', async (t) => {
  // A picture of very many parts of one byte.
  const parts = Buffer.alloc(4_000_000, 1)
  const head = Buffer.from('GIF89a\x01\0\x01\0\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02', 'latin1')
  const gif = Buffer.concat([head, parts, Buffer.from([0, 0x3b])])
  // Chunks in memory come at once, as those of a file do that was read ahead.
  const plan = planPicture('picture.gif', sourceOf(gif))
  let turns = 0
  let isPlanned = false
  const counted = (async () => {
    for (; !isPlanned; turns += 1) await nextTurn()
  })()
  t.match(await plan, { kind: 'cleaned', length: gif.length })
  isPlanned = true
  await counted
  t.ok(turns > 30, `${turns} turns`)
})

test('a picture of more small parts than a real one has stays', async (t) => {
  /** As many parts as make the node read a few bytes 102,000 times. */
  const many = (part: Buffer, reads: number) => Buffer.alloc((part.length * 102_000) / reads, part)
  const pictures = {
    jpeg: Buffer.concat([
      Buffer.from([0xff, 0xd8]),
      many(segment(0xfe, Buffer.alloc(0)), 2),
      segment(0xc0, Buffer.alloc(9)),
      segment(0xda, Buffer.alloc(6)),
      Buffer.from([1, 0xff, 0xd9]),
    ]),
    png: Buffer.concat([
      signature,
      pngChunk('IHDR', Buffer.alloc(13)),
      pngChunk('IDAT', Buffer.alloc(1)),
      many(pngChunk('IDAT', Buffer.alloc(0)), 1),
      pngChunk('IEND', Buffer.alloc(0)),
    ]),
    gif: Buffer.concat([
      Buffer.from('GIF89a\x01\0\x01\0\0\0\0', 'latin1'),
      many(gifExtension(0xfe), 3),
      Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3b]),
    ]),
    webp: riffChunk(
      'RIFF',
      Buffer.concat([
        Buffer.from('WEBP'),
        riffChunk('VP8 ', Buffer.alloc(2)),
        many(riffChunk('abcd', Buffer.alloc(0)), 1),
      ]),
    ),
  }
  for (const [format, bytes] of Object.entries(pictures))
    t.equal(await cleaned(bytes, `picture.${format}`), 'broken', format)
})

test('a failure of the file is no refusal', async (t) => {
  const failing = {
    size: 100,
    async *read(): AsyncGenerator<Uint8Array, void, undefined> {
      yield signature
      throw new Error('The disk failed.')
    },
  }
  await t.rejects(planPicture('picture.png', failing), { message: 'The disk failed.' })
})
