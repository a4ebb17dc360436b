import { setImmediate } from 'node:timers/promises'
import { ChangeGate } from '@nodekeep/plugin-sdk'
import t from 'tap'

const never = new AbortController().signal

t.test('A halt waits for running changes, and holds up new ones until it is disposed.', async (t) => {
  const gate = new ChangeGate()
  const steps: string[] = []
  const [first, work] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const change = (name: string, until?: Promise<void>) =>
    gate.runShared(async () => {
      steps.push(`${name} begins`)
      await until
      steps.push(`${name} ends`)
    })
  const running = change('first', first.promise)
  const halting = async () => {
    using _halt = await gate.halt(never)
    steps.push('halt begins')
    await work.promise
    steps.push('halt ends')
  }
  const exclusive = halting()
  const later = Promise.all([change('second'), change('third')])
  for (const step of [first, work]) {
    await setImmediate()
    step.resolve()
  }
  await Promise.all([running, exclusive, later])
  t.strictSame(steps.slice(0, 4), ['first begins', 'first ends', 'halt begins', 'halt ends'])
  t.strictSame(steps.slice(4), ['second begins', 'third begins', 'second ends', 'third ends'])
})

t.test('Two halts come one after the other.', async (t) => {
  const gate = new ChangeGate()
  let running = 0
  const work = async () => {
    using _halt = await gate.halt(never)
    running += 1
    t.equal(running, 1)
    await setImmediate()
    running -= 1
  }
  await Promise.all([1, 2, 3].map(work))
})

t.test('Failures reach the caller, and the gate stays usable.', async (t) => {
  const gate = new ChangeGate()
  const failing = () => Promise.reject(new Error('failed'))
  await t.rejects(gate.runShared(failing), { message: 'failed' })
  const halt = await gate.halt(never)
  halt[Symbol.dispose]()
  halt[Symbol.dispose]()
  t.equal(await gate.runShared(async () => 2), 2)
})

t.test(
  'A signal ends the wait for running changes, and changes go on. A signal ends the wait for a halt.',
  async (t) => {
    const gate = new ChangeGate()
    const running = Promise.withResolvers<void>()
    const change = gate.runShared(() => running.promise)
    const controller = new AbortController()
    const halting = gate.halt(controller.signal)
    controller.abort(new Error('enough'))
    await t.rejects(halting, { message: 'enough' })
    t.equal(await gate.runShared(async () => 1), 1)
    running.resolve()
    await change
    const halt = await gate.halt(never)
    const waiting = new AbortController()
    const beginning = gate.begin(waiting.signal)
    waiting.abort(new Error('left'))
    await t.rejects(beginning, { message: 'left' })
    halt[Symbol.dispose]()
    const begun = await gate.begin()
    begun[Symbol.dispose]()
    const last = await gate.halt(never)
    last[Symbol.dispose]()
  },
)

t.test(
  'Work that becomes a change late does not hold a halt up before that, and waits for it then.',
  async (t) => {
    const gate = new ChangeGate()
    const steps: string[] = []
    const [ready, go] = [1, 2].map(() => Promise.withResolvers<void>())
    const late = gate.runLate(async (begin) => {
      ready?.resolve()
      await go?.promise
      await begin()
      await begin()
      steps.push('change')
    })
    await ready?.promise
    const halt = await gate.halt(never)
    go?.resolve()
    await setImmediate()
    steps.push('halt ends')
    halt[Symbol.dispose]()
    await late
    t.strictSame(steps, ['halt ends', 'change'])
    await t.rejects(
      gate.runLate(async (begin) => {
        await begin()
        throw new Error('failed')
      }),
      { message: 'failed' },
    )
    const last = await gate.halt(never)
    last[Symbol.dispose]()
  },
)
