import { defineEvent } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createLogger } from '../../src/log/logger.ts'
import { KernelEventBus } from '../../src/services/event-bus.ts'

const changed = defineEvent<number>('test.changed')
const removed = defineEvent<string>('test.removed')
const turn = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const lines: string[] = []
  const log = createLogger({ destination: { write: (line) => lines.push(line) } })
  const bus = new KernelEventBus()
  return { lines, scope: (plugin: string) => bus.scope(log.child({ plugin })) }
}

test('events reach all listeners of all scopes in order, after the current call stack', async (t) => {
  const { scope } = setUp()
  const [a, b] = [scope('a'), scope('b')]
  const received: string[] = []
  a.on(changed, (number) => void received.push(`a ${number}`))
  b.on(changed, (number) => {
    received.push(`b ${number}`)
    if (number === 1) b.emit(removed, 'by b')
  })
  a.on(removed, (text) => void received.push(`a ${text}`))
  a.emit(changed, 1)
  b.emit(changed, 2)
  a.emit(defineEvent<number>('test.changed'), 3)
  t.same(received, [], 'not yet')
  await turn()
  t.same(received, ['a 1', 'b 1', 'a 2', 'b 2', 'a 3', 'b 3', 'a by b'])
})

test('events reach neither later listeners nor removed ones', async (t) => {
  const { scope } = setUp()
  const events = scope('a')
  const received: string[] = []
  const stop = events.on(changed, () => void received.push('left'))
  events.on(changed, () => void received.push('stays'))
  events.emit(changed, 1)
  events.on(changed, () => void received.push('late'))
  stop()
  stop()
  await turn()
  t.same(received, ['stays'])
})

test('a listener that is removed during a delivery gets no call', async (t) => {
  const { scope } = setUp()
  const events = scope('a')
  const received: string[] = []
  events.on(changed, () => {
    received.push('first')
    stopSecond()
  })
  const stopSecond = events.on(changed, () => void received.push('second'))
  events.emit(changed, 1)
  await turn()
  t.same(received, ['first'])
})

test('the end of a scope removes all its listeners', async (t) => {
  const { scope } = setUp()
  const [a, b] = [scope('a'), scope('b')]
  const received: string[] = []
  a.on(changed, () => void received.push('a'))
  a.on(removed, () => void received.push('a'))
  b.on(changed, () => void received.push('b'))
  a.emit(changed, 1)
  a.close()
  a.close()
  b.emit(removed, '')
  await turn()
  t.same(received, ['b'])
})

test('the bus logs a listener that throws or rejects under its plugin and calls the other listeners', async (t) => {
  const { scope, lines } = setUp()
  const [a, b] = [scope('a'), scope('b')]
  const received: number[] = []
  a.on(changed, () => {
    throw new Error('thrown')
  })
  a.on(changed, async () => {
    throw new Error('rejected')
  })
  a.on(changed, () => {
    throw undefined
  })
  b.on(changed, (number) => void received.push(number))
  b.emit(changed, 1)
  b.emit(changed, 2)
  await turn()
  t.same(received, [1, 2])
  const logged = lines.map(
    (line) => JSON.parse(line) as { plugin: string; event: string; err?: { message: string } },
  )
  t.equal(logged.length, 6)
  t.ok(logged.every(({ plugin, event }) => plugin === 'a' && event === 'test.changed'))
  t.same(new Set(logged.map(({ err }) => err?.message)), new Set(['thrown', 'rejected', undefined]))
})
