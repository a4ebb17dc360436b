import { test } from 'tap'
import { PictureBytes } from '../../src/pictures/picture-bytes.ts'
import { planPicture } from '../../src/pictures/plan-picture.ts'
import { pngChunk } from './fixtures/camera-data.ts'
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
