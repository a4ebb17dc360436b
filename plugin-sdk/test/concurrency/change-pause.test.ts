import { ChangePause } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'

const { signal } = new AbortController()

// The timers of the waits do not keep the process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))

/** Timers may be early by a part of a millisecond. */
const timerMs = 2

/** The milliseconds that a wait took. */
async function waited(pause: ChangePause): Promise<number> {
  const began = performance.now()
  await pause.wait(signal)
  return performance.now() - began
}

/** Lets changes go on until the end of a test. */
function keepChanging(t: Test, pause: ChangePause): void {
  pause.notice()
  const timer = setInterval(() => pause.notice(), 1)
  t.teardown(() => clearInterval(timer))
}

t.test('without a change, nothing waits', async (t) => {
  const pause = new ChangePause({ quietMs: 3_600_000, longestMs: 3_600_000 })
  await pause.wait(signal)
  t.pass()
})

t.test('a wait ends when nothing has changed for long enough', async (t) => {
  const pause = new ChangePause({ quietMs: 100, longestMs: 3_600_000 })
  pause.notice()
  const wait = pause.wait(signal)
  const lastAt = performance.now()
  pause.notice()
  await wait
  t.ok(performance.now() - lastAt >= 100 - timerMs)
})

t.test('work goes on after the longest wait, although changes go on', async (t) => {
  const pause = new ChangePause({ quietMs: 3_600_000, longestMs: 50 })
  keepChanging(t, pause)
  t.ok((await waited(pause)) >= 50 - timerMs)
})

t.test('a wait ends with its signal', async (t) => {
  const pause = new ChangePause({ quietMs: 3_600_000, longestMs: 3_600_000 })
  keepChanging(t, pause)
  const control = new AbortController()
  const wait = pause.wait(control.signal)
  control.abort(new Error('stopped'))
  await t.rejects(wait, { message: 'stopped' })
  await t.rejects(pause.wait(control.signal), { message: 'stopped' })
})
