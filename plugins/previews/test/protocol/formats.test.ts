import { test } from 'tap'
import { formatOf } from '../../src/protocol/formats.ts'
import { fixture } from '../fixtures/preview-node.ts'

test('the first bytes tell the format', async (t) => {
  const names = [
    'jpeg.jpg',
    'png.png',
    'webp.webp',
    'gif.gif',
    'avif.avif',
    'mp3.mp3',
    'flac.flac',
    'm4a.m4a',
    'ogg.ogg',
  ]
  for (const name of names) t.equal(formatOf(fixture(name)), name.split('.')[0], name)
})

test('everything else has no format', async (t) => {
  const others: Record<string, Buffer> = {
    empty: Buffer.alloc(0),
    svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    pdf: Buffer.from('%PDF-1.7\n'),
    tiff: Buffer.from('II*\0'),
    video: Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp42', 'latin1'),
    heic: Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'),
    'a box that lies about its length': Buffer.from('\xff\xff\xff\xffftypheic', 'latin1'),
    'a part of a head': Buffer.from('\x89PN', 'latin1'),
    'audio without a tag': Buffer.from('\xff\xfb\x90\0', 'latin1'),
  }
  for (const [name, content] of Object.entries(others)) t.equal(formatOf(content), null, name)
})
