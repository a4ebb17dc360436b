import t from 'tap'
import { StepClock } from '../../src/sandbox/step-clock.ts'

const sleepMs = 50

function sleep(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs)
}

t.test('time without a processor counts only for a step that can wait by itself', async (t) => {
  const clock = new StepClock()
  clock.wake()
  clock.begin()
  sleep()
  t.ok(clock.elapsed(true) >= (sleepMs - 1) * 1000)
  t.ok(clock.elapsed(false) < (sleepMs / 2) * 1000)
})

t.test('each step is on its own account', async (t) => {
  const clock = new StepClock()
  clock.wake()
  clock.begin()
  const { user, system } = process.threadCpuUsage()
  for (let now = process.threadCpuUsage(); now.user + now.system - user - system < 20_000; )
    now = process.threadCpuUsage()
  t.ok(clock.elapsed(false) >= 20_000)
  clock.begin()
  sleep()
  t.ok(clock.elapsed(false) < 10_000, 'what was before it is not counted again')
})
