import { setClock } from '@nodekeep/kernel/testing'
import type { StateStore } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { NodeClock } from '../../src/health/node-clock.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const built = new Date('2026-01-01T00:00:00Z')
const noon = new Date('2026-11-22T12:00:00Z').getTime()

/** A machine whose time passes by `run` only, and whose clock can be set. */
function createMachine(t: Test, clockAt: number) {
  t.teardown(() => setClock(null))
  const stored = new Map<string, unknown>()
  const lines: string[] = []
  let clock: NodeClock
  let now = clockAt
  let uptimeMs = 0
  let stop = () => {}
  t.teardown(() => stop())
  const set = (moment: number) => {
    now = moment
    setClock(new Date(moment))
  }
  const machine = {
    lines,
    set,
    state: () => clock.check().state,
    past: () => clock.past.getTime(),
    /** Starts the node, or starts it again. */
    async start(earliest: Date | null = null) {
      stop()
      set(now)
      clock = new NodeClock({
        state: {
          get: async (key: string) => stored.get(key),
          set: async (key: string, value: unknown) => void stored.set(key, structuredClone(value)),
        } as unknown as StateStore,
        log: { info: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) } as never,
        earliest,
        uptimeSeconds: () => uptimeMs / 1000,
      })
      stop = await clock.start()
    },
    /** Lets the machine sleep: the node does not run, and timers do not end. */
    sleep(ms: number) {
      uptimeMs += ms
      set(now + ms)
    },
    /** @param slew how much faster the clock goes */
    async run(ms: number, slew = 0) {
      for (let passed = 0; passed < ms; passed += 10 * minuteMs) {
        uptimeMs += 10 * minuteMs
        set(now + 10 * minuteMs * (1 + slew))
        await clock.readClock()
      }
    },
  }
  return machine
}

test('the clock is steady while it is adjusted, while the machine sleeps, and after a time off', async (t) => {
  const machine = createMachine(t, noon)
  await machine.start(built)
  await machine.run(100 * hourMs, 0.0005)
  t.equal(machine.state(), 'steady')
  machine.sleep(200 * hourMs)
  t.equal(machine.state(), 'steady')
  await machine.run(hourMs)
  machine.set(noon + 9000 * hourMs)
  await machine.start(built)
  t.equal(machine.state(), 'steady')
  t.strictSame(machine.lines, [])
})

test('a clock that jumps is told until it comes back, or until the node has run for a day', async (t) => {
  for (const jumped of [noon + 9000 * hourMs, noon - 9000 * hourMs, 0]) {
    const machine = createMachine(t, noon)
    await machine.start()
    await machine.run(30 * hourMs)
    const right = noon + 30 * hourMs
    machine.set(jumped)
    t.equal(machine.state(), 'jumped')
    await machine.run(3 * hourMs)
    t.equal(machine.state(), 'jumped')
    machine.set(right + 3 * hourMs)
    t.equal(machine.state(), 'steady', 'it is right again at once')
    await machine.run(hourMs)
    await machine.start()
    t.equal(machine.state(), 'steady', 'nothing is left of the jump')
    machine.set(jumped)
    await machine.run(23 * hourMs)
    t.equal(machine.state(), 'jumped')
    await machine.run(2 * hourMs)
    t.equal(machine.state(), 'steady')
    t.match(
      machine.lines,
      [/jumped/, /right again/, /jumped/, /right again/],
      'each change is in the log, once',
    )
  }
})

test('a clock that starts in 1970 is behind until it is set', async (t) => {
  const machine = createMachine(t, noon)
  await machine.start(built)
  await machine.run(30 * hourMs)
  machine.set(minuteMs)
  await machine.start(built)
  t.equal(machine.state(), 'behind')
  await machine.run(2 * hourMs)
  machine.set(noon + 33 * hourMs)
  t.equal(machine.state(), 'steady')
  t.ok(machine.past() < noon, 'what cannot be undone waits')

  const fresh = createMachine(t, minuteMs)
  await fresh.start(built)
  t.equal(fresh.state(), 'behind', 'no clock is before the build')
  fresh.set(noon)
  t.equal(fresh.state(), 'steady')
})

test('a clock that was ahead is behind for a day of running, also with starts between', async (t) => {
  const machine = createMachine(t, noon)
  await machine.start(built)
  await machine.run(30 * hourMs)
  machine.set(noon + 9000 * hourMs)
  await machine.start(built)
  await machine.run(5 * hourMs)
  t.ok(machine.past() < noon + 30 * hourMs, 'the time that was ahead has not certainly passed')
  machine.set(noon + 40 * hourMs)
  await machine.start(built)
  t.equal(machine.state(), 'behind')
  for (let hours = 0; hours < 24; hours += 6) {
    await machine.run(6 * hourMs)
    await machine.start(built)
  }
  t.equal(machine.state(), 'steady')
})

test('a moment has certainly passed when the node has run for a day after it', async (t) => {
  const machine = createMachine(t, noon)
  await machine.start()
  await machine.run(22 * hourMs)
  t.equal(machine.past(), 0)
  await machine.run(3 * hourMs)
  t.ok(machine.past() >= noon && machine.past() <= noon + 2 * hourMs)
  for (let starts = 0; starts < 30; starts += 1) {
    machine.set(noon + 9000 * hourMs)
    await machine.start()
    t.ok(machine.past() <= noon + 2 * hourMs, 'starts do not count')
  }
  await machine.run(25 * hourMs)
  t.ok(machine.past() >= noon + 9000 * hourMs)
})
