import { setImmediate } from 'node:timers/promises'
import { ChangeGate } from '@nodekeep/plugin-sdk'
import t from 'tap'

const never = new AbortController().signal

t.test('Exclusive work waits for running changes, and holds up new ones.', async (t) => {
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
  const exclusive = gate.runExclusive(async () => {
    steps.push('work begins')
    await work.promise
    steps.push('work ends')
  }, never)
  const later = Promise.all([change('second'), change('third')])
  for (const step of [first, work]) {
    await setImmediate()
    step.resolve()
  }
  await Promise.all([running, exclusive, later])
  t.strictSame(steps.slice(0, 4), ['first begins', 'first ends', 'work begins', 'work ends'])
  t.strictSame(steps.slice(4), ['second begins', 'third begins', 'second ends', 'third ends'])
})

t.test('Two calls of exclusive work run one after the other.', async (t) => {
  const gate = new ChangeGate()
  let running = 0
  const work = async () => {
    running += 1
    t.equal(running, 1)
    await setImmediate()
    running -= 1
  }
  await Promise.all([1, 2, 3].map(() => gate.runExclusive(work, never)))
})

t.test('Failures reach the caller, and the gate stays usable.', async (t) => {
  const gate = new ChangeGate()
  const failing = () => Promise.reject(new Error('failed'))
  await t.rejects(gate.runShared(failing), { message: 'failed' })
  await t.rejects(gate.runExclusive(failing, never), { message: 'failed' })
  t.equal(await gate.runExclusive(async () => 1, never), 1)
  t.equal(await gate.runShared(async () => 2), 2)
})

t.test('A signal ends the wait for running changes. The work does not run, and changes go on.', async (t) => {
  const gate = new ChangeGate()
  const running = Promise.withResolvers<void>()
  const change = gate.runShared(() => running.promise)
  const controller = new AbortController()
  const work = gate.runExclusive(async () => t.fail('the work runs'), controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(work, { message: 'enough' })
  t.equal(await gate.runShared(async () => 1), 1)
  running.resolve()
  await change
})

t.test(
  'Work that becomes a change late does not hold exclusive work up before that, and waits for it then.',
  async (t) => {
    const gate = new ChangeGate()
    const steps: string[] = []
    const [ready, go, exclusive] = [1, 2, 3].map(() => Promise.withResolvers<void>())
    const late = gate.runLate(async (begin) => {
      ready?.resolve()
      await go?.promise
      await begin()
      await begin()
      steps.push('change')
    })
    await ready?.promise
    const work = gate.runExclusive(async () => {
      go?.resolve()
      await setImmediate()
      steps.push('work')
      exclusive?.resolve()
    }, never)
    await Promise.all([late, work, exclusive?.promise])
    t.strictSame(steps, ['work', 'change'])
    await t.rejects(
      gate.runLate(async (begin) => {
        await begin()
        throw new Error('failed')
      }),
      { message: 'failed' },
    )
    t.equal(await gate.runExclusive(async () => 1, never), 1, 'a change that failed has ended')
  },
)
