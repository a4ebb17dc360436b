import { test } from 'tap'
import type { PictureSource } from '../../src/pictures/picture-bytes.ts'
import { PicturePlans } from '../../src/pictures/picture-plans.ts'
import { gifExtension } from './fixtures/camera-data.ts'
import { sourceOf } from './fixtures/source-of.ts'

// A picture of one pixel.
const gif = Buffer.concat([
  Buffer.from('GIF89a\x01\0\x01\0\0\0\0', 'latin1'),
  gifExtension(0xfe, Buffer.from('a comment')),
  Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3b]),
])

const fileOf = (revision: string, userUuid = 'ada') => ({ userUuid, path: '/trip/picture.gif', revision })

test('a plan is made once for each content', async (t) => {
  const plans = new PicturePlans()
  const source = sourceOf(gif)
  const first = await plans.for(fileOf('one'), source)
  t.equal(first.kind, 'cleaned')
  t.equal(await plans.for(fileOf('one'), source), first)
  t.equal(source.opened, 1)
  t.strictSame(await plans.for(fileOf('two'), source), first)
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
  await t.rejects(plans.for(fileOf('one'), failing))
  t.equal((await plans.for(fileOf('one'), sourceOf(gif))).kind, 'cleaned')
})

test('requests for one file at a time share its plan', async (t) => {
  const plans = new PicturePlans()
  const source = sourceOf(gif)
  const [first, ...others] = await Promise.all(
    Array.from({ length: 10 }, () => plans.for(fileOf('one'), source)),
  )
  t.equal(first?.kind, 'cleaned')
  for (const other of others) t.equal(other, first)
  t.equal(source.opened, 1)
})

test('the failure of one request is none of the others that wait for it', async (t) => {
  const plans = new PicturePlans()
  const ended = {
    size: gif.length,
    async *read(): AsyncGenerator<Uint8Array, void, undefined> {
      yield* []
      throw new Error('The link has ended.')
    },
  }
  const source = sourceOf(gif)
  const [failed, ...others] = await Promise.allSettled([
    plans.for(fileOf('one'), ended),
    plans.for(fileOf('one'), source),
    plans.for(fileOf('one'), source),
  ])
  t.match(failed, { status: 'rejected', reason: { message: 'The link has ended.' } })
  for (const other of others) t.match(other, { status: 'fulfilled', value: { kind: 'cleaned' } })
  t.equal(source.opened, 1)
})

test('few plans are made at a time, and a user with many does not hold up others', async (t) => {
  const plans = new PicturePlans()
  const gate = Promise.withResolvers<void>()
  let open = 0
  let most = 0
  const slow: PictureSource = {
    size: gif.length,
    async *read() {
      open += 1
      most = Math.max(most, open)
      try {
        await gate.promise
        yield Buffer.from(gif)
      } finally {
        open -= 1
      }
    },
  }
  const ofAda = Array.from({ length: 50 }, (_, at) => plans.for(fileOf(`${at}`), slow))
  t.equal((await plans.for(fileOf('one', 'ben'), sourceOf(gif))).kind, 'cleaned')
  gate.resolve()
  await Promise.all(ofAda)
  t.equal(most, 4)
})
