import { getEventListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { Aborts } from '../../src/pool/aborts.ts'

t.test('who waits is told when their signal is aborted, and nobody else', async (t) => {
  const told: [string, unknown][] = []
  const aborts = new Aborts<string>((waiting, reason) => told.push([waiting, reason]))
  const [mine, yours] = [new AbortController(), new AbortController()]
  for (const name of ['a', 'b', 'c']) aborts.add(mine.signal, name)
  aborts.add(yours.signal, 'd')
  aborts.delete(mine.signal, 'b')
  aborts.delete(yours.signal, 'a')
  mine.abort('left')
  t.strictSame(told, [
    ['a', 'left'],
    ['c', 'left'],
  ])
  yours.abort('left, too')
  t.strictSame(told.at(-1), ['d', 'left, too'])
})

t.test('who is told may end others, which then are not', async (t) => {
  const told: string[] = []
  const leaving = new AbortController()
  const aborts: Aborts<string> = new Aborts((waiting) => {
    told.push(waiting)
    aborts.delete(leaving.signal, 'b')
  })
  aborts.add(leaving.signal, 'a')
  aborts.add(leaving.signal, 'b')
  leaving.abort()
  t.strictSame(told, ['a'])
})

t.test('a signal on which nobody waits is let go, and can be waited on again', async (t) => {
  const told: string[] = []
  const aborts = new Aborts<string>((waiting) => told.push(waiting))
  const controller = new AbortController()
  const { signal } = controller
  aborts.add(signal, 'a')
  aborts.delete(signal, 'a')
  t.equal(getEventListeners(signal, 'abort').length, 1)
  aborts.add(signal, 'b')
  await delay(250)
  t.equal(getEventListeners(signal, 'abort').length, 1, 'somebody waits')
  aborts.delete(signal, 'b')
  while (getEventListeners(signal, 'abort').length > 0) await delay(20)
  aborts.add(signal, 'c')
  controller.abort()
  t.strictSame(told, ['c'])
})
