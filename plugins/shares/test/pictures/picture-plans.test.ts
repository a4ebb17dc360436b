import { untilAborted } from '@nodekeep/plugin-sdk'
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

/** Somebody waits all the time. */
const here = new AbortController().signal

const fileOf = (revision: string, userUuid = 'ada') => ({ userUuid, path: '/trip/picture.gif', revision })

test('a plan is made once for each content', async (t) => {
  const plans = new PicturePlans()
  const source = sourceOf(gif)
  const first = await plans.for(fileOf('one'), source, here)
  t.equal(first.kind, 'cleaned')
  t.equal(await plans.for(fileOf('one'), source, here), first)
  t.equal(source.opened, 1)
  t.strictSame(await plans.for(fileOf('two'), source, here), first)
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
  await t.rejects(plans.for(fileOf('one'), failing, here))
  t.equal((await plans.for(fileOf('one'), sourceOf(gif), here)).kind, 'cleaned')
})

test('requests for one file at a time share its plan', async (t) => {
  const plans = new PicturePlans()
  const source = sourceOf(gif)
  const [first, ...others] = await Promise.all(
    Array.from({ length: 10 }, () => plans.for(fileOf('one'), source, here)),
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
    plans.for(fileOf('one'), ended, here),
    plans.for(fileOf('one'), source, here),
    plans.for(fileOf('one'), source, here),
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
  const ofAda = Array.from({ length: 50 }, (_, at) => plans.for(fileOf(`${at}`), slow, here))
  t.equal((await plans.for(fileOf('one', 'ben'), sourceOf(gif), here)).kind, 'cleaned')
  gate.resolve()
  await Promise.all(ofAda)
  t.equal(most, 4)
})

test('the plan of somebody who has left ends, and those who stay have theirs', async (t) => {
  const plans = new PicturePlans()
  const leave = new AbortController()
  const left = new Error('The client left.')
  const begun = Promise.withResolvers<void>()
  let open = 0
  const endless: PictureSource = {
    size: gif.length,
    async *read() {
      open += 1
      if (open === 4) begun.resolve()
      try {
        yield await untilAborted(new Promise<Uint8Array>(() => {}), leave.signal)
      } finally {
        open -= 1
      }
    },
  }
  // As many as a user has at a time, and others that wait for their turn.
  const ofLeaving = Array.from({ length: 6 }, (_, at) => plans.for(fileOf(`${at}`), endless, leave.signal))
  const outcomes = Promise.allSettled(ofLeaving)
  await begun.promise
  const ofStaying = [plans.for(fileOf('0'), sourceOf(gif), here), plans.for(fileOf('x'), sourceOf(gif), here)]
  leave.abort(left)
  for (const outcome of await outcomes) t.match(outcome, { status: 'rejected', reason: left })
  t.equal(open, 0)
  for (const plan of await Promise.all(ofStaying)) t.equal(plan.kind, 'cleaned')
  t.equal((await plans.for(fileOf('5'), sourceOf(gif), here)).kind, 'cleaned', 'one that never had its turn')
})
