import { test } from 'tap'
import type { Look } from '../../src/probation/looks.ts'
import { passedLooks, watchVersion } from '../../src/probation/probation.ts'

const never = new AbortController().signal
const log = { warn() {} }

/** A look whose results are decided in order. The last one holds on. */
function scripted(name: string, results: readonly boolean[], patienceMs = 0) {
  let runs = 0
  const look: Look = {
    name,
    patienceMs,
    async look() {
      const result = results[Math.min(runs, results.length - 1)]
      runs += 1
      if (result !== true) throw new Error(`${name} is broken.`)
    },
  }
  return { look, runs: () => runs }
}

const watch = (passed: readonly string[], looks: readonly Look[], lastsMs = 30, signal = never) =>
  watchVersion(passed, lastsMs, { looks: () => looks, log, signal, everyMs: 1 })

test('only the looks that a version passes count for the next one', async (t) => {
  const looks = [scripted('port', [true]), scripted('wasm', [false])].map(({ look }) => look)
  t.same(await passedLooks(looks, never), ['port'])
  t.equal(await watch(['port'], looks), null)
  t.equal(await watch(['port', 'wasm'], looks), 'wasm is broken.')
})

test('a version is watched for the whole time', async (t) => {
  const { look, runs } = scripted('port', [true])
  const begun = performance.now()
  t.equal(await watch(['port'], [look], 100), null)
  t.ok(performance.now() - begun >= 99)
  t.ok(runs() > 3, `${runs()} looks`)
})

test('a part may fail for a moment, and not for longer than its patience', async (t) => {
  const flaky = scripted('port', [true, false, false, true, false, true], 10_000)
  t.equal(await watch(['port'], [flaky.look]), null)
  const dying = scripted('port', [true, true, false], 20)
  t.equal(await watch(['port'], [dying.look]), 'port is broken.')
  t.equal(await watch(['port'], [dying.look], 0), 'port is broken.', 'also if it fails at the very end')
})

test('a public address that is gone counts, another part that is gone does not', async (t) => {
  const { look } = scripted('port', [true])
  t.equal(await watch(['port', 'wasm'], [look]), null)
  const stop = new AbortController()
  const watching = watch(['port', 'public https://me.example.org'], [look], 0, stop.signal)
  setTimeout(() => stop.abort(new Error('The node stops.')), 50)
  await t.rejects(watching, /The node stops/, 'the connection may come back within three minutes')
})

test('a look that throws no error is a problem as well', async (t) => {
  const look: Look = { name: 'odd', patienceMs: 0, look: () => Promise.reject('odd') }
  t.equal(await watch(['odd'], [look]), 'odd')
})
