import { test } from 'tap'
import { PicturePlans } from '../../src/pictures/picture-plans.ts'
import { gifExtension } from './fixtures/camera-data.ts'
import { sourceOf } from './fixtures/source-of.ts'

// A picture of one pixel.
const gif = Buffer.concat([
  Buffer.from('GIF89a\x01\0\x01\0\0\0\0', 'latin1'),
  gifExtension(0xfe, Buffer.from('a comment')),
  Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3b]),
])

test('a plan is made once for each content', async (t) => {
  const plans = new PicturePlans()
  const source = sourceOf(gif)
  const first = await plans.for('one', 'picture.gif', source)
  t.equal(first.kind, 'cleaned')
  t.equal(await plans.for('one', 'picture.gif', source), first)
  t.equal(source.opened, 1)
  t.strictSame(await plans.for('two', 'picture.gif', source), first)
  t.equal(source.opened, 2)
})

test('a failure is not kept', async (t) => {
  const plans = new PicturePlans()
  const failing = {
    size: 10,
    async *read(): AsyncGenerator<Uint8Array, void, undefined> {
      yield* []
      throw new Error('The disk failed.')
    },
  }
  await t.rejects(plans.for('one', 'picture.gif', failing))
  t.equal((await plans.for('one', 'picture.gif', sourceOf(gif))).kind, 'cleaned')
})
