import { test } from 'tap'
import type { Probe } from '../../src/probation/probes.ts'
import { passedProbes, watchVersion } from '../../src/probation/watch-version.ts'

const never = new AbortController().signal
const log = { warn() {} }

/** A probe whose results are decided in order. The last one holds on. */
function scripted(name: string, results: readonly boolean[], maxFailingMs = 0) {
  let runs = 0
  const probe: Probe = {
    name,
    maxFailingMs,
    async run() {
      const result = results[Math.min(runs, results.length - 1)]
      runs += 1
      if (result !== true) throw new Error(`${name} is broken.`)
    },
  }
  return { probe, runs: () => runs }
}

const watch = (passed: readonly string[], probes: readonly Probe[], lastsMs = 30, signal = never) =>
  watchVersion(passed, { probes: () => probes, log, signal }, { lastsMs, everyMs: 1 })

test('only the probes that a version passes count for the next one', async (t) => {
  const probes = [scripted('port', [true]), scripted('wasm', [false])].map(({ probe }) => probe)
  t.same(await passedProbes(probes, never), ['port'])
  t.equal(await watch(['port'], probes), null)
  t.equal(await watch(['port', 'wasm'], probes), 'wasm is broken.')
})

test('a version is watched for the whole time', async (t) => {
  const { probe, runs } = scripted('port', [true])
  const begun = performance.now()
  t.equal(await watch(['port'], [probe], 100), null)
  t.ok(performance.now() - begun >= 99)
  t.ok(runs() > 3, `${runs()} probes`)
})

test('a part may fail for a moment, and not for longer than its limit', async (t) => {
  const flaky = scripted('port', [true, false, false, true, false, true], 10_000)
  t.equal(await watch(['port'], [flaky.probe]), null)
  const dying = scripted('port', [true, true, false], 20)
  t.equal(await watch(['port'], [dying.probe]), 'port is broken.')
  t.equal(await watch(['port'], [dying.probe], 0), 'port is broken.', 'also if it fails at the very end')
})

test('a public address that is gone counts, another part that is gone does not', async (t) => {
  const { probe } = scripted('port', [true])
  t.equal(await watch(['port', 'wasm'], [probe]), null)
  const stop = new AbortController()
  const watching = watch(['port', 'public https://me.example.org'], [probe], 0, stop.signal)
  setTimeout(() => stop.abort(new Error('The node stops.')), 50)
  await t.rejects(watching, /The node stops/, 'the connection may come back within three minutes')
})

test('a probe that throws no error is a problem as well', async (t) => {
  const probe: Probe = { name: 'odd', maxFailingMs: 0, run: () => Promise.reject('odd') }
  t.equal(await watch(['odd'], [probe]), 'odd')
})
