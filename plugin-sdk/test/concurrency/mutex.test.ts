import { Mutex } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('Tasks run one at a time, in the order of the calls', async (t) => {
  const mutex = new Mutex()
  const events: string[] = []
  const first = Promise.withResolvers<void>()
  const one = mutex.run(async () => {
    events.push('first begins')
    await first.promise
    events.push('first ends')
  })
  const two = mutex.run(async () => {
    events.push('second')
    return 2
  })
  first.resolve()
  t.equal(await two, 2)
  await one
  t.same(events, ['first begins', 'first ends', 'second'])
})

test('A task that fails rejects for its caller and does not block the next task', async (t) => {
  const mutex = new Mutex()
  const failed = mutex.run(async () => {
    throw new Error('broken')
  })
  const next = mutex.run(async () => 'next')
  await t.rejects(failed, { message: 'broken' })
  t.equal(await next, 'next')
})
