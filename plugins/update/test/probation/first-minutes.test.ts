import { NodekeepError } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { firstMinutes } from '../../src/probation/first-minutes.ts'
import type { Probe } from '../../src/probation/probes.ts'
import { updatesSubject } from '../fixtures/updates-subject.ts'

/** Installs version 1.1.0, starts it, and watches it. */
async function watched(t: Test, works: () => boolean) {
  const { updates, releases, start, lines, stopping } = await updatesSubject(t)
  await updates.install()
  const next = await start('1.1.0')
  t.equal(await next.updates.settle(), true)
  const probe: Probe = {
    name: 'port',
    patienceMs: 10,
    async run() {
      if (!works()) throw new Error('The node does not answer.')
    },
  }
  const log = (line: unknown) => void lines.push(line)
  const parts = {
    current: '1.1.0',
    probes: () => [probe],
    file: next.file,
    releases,
    log: { info: log, warn: log, error: log },
    signal: stopping.signal,
    everyMs: 1,
  }
  return { parts, releases, lines, stopping, next, start }
}

test('a version that works is installed', async (t) => {
  const { parts, releases, lines, next } = await watched(t, () => true)
  await firstMinutes({ ...parts, lastsMs: 20 })
  t.equal(next.updates.progress, 'Version 1.1.0 is installed.')
  t.match(lines.at(-1), { event: 'update-passed', version: '1.1.0' })
  t.same(releases.asked, ['change to /new/1.1.0 within 1000'])
  await next.updates.check()
  await firstMinutes({ ...parts, lastsMs: 20 })
  t.pass('there is nothing more to watch')
})

test('a version that does not work goes back, and says why', async (t) => {
  let works = true
  const { parts, releases, lines, next } = await watched(t, () => works)
  const watching = firstMinutes(parts)
  works = false
  await watching
  const sentence = 'Version 1.1.0 did not work in its first minutes. The node does not answer.'
  t.equal(releases.asked.at(-1), `go back: ${sentence}`)
  t.equal(next.updates.progress, sentence)
  t.match(lines.at(-1), { event: 'update-back', problem: 'The node does not answer.' })
})

test('without a way back, the version stays, and the reason is known', async (t) => {
  const { parts, releases, next } = await watched(t, () => false)
  releases.refusal = 'There is no way back.'
  await t.rejects(firstMinutes(parts), NodekeepError)
  t.match(next.updates.progress, /did not work in its first minutes/)
})

test('a version stays if the former one would refuse the configuration', async (t) => {
  const { parts, releases, next } = await watched(t, () => false)
  const asked = [...releases.asked]
  releases.wayProblems = ['update.color is not known.']
  await firstMinutes(parts)
  t.same(releases.asked, asked)
  t.match(
    next.updates.progress,
    /did not work in its first minutes.* It stays, .* update\.color is not known\.$/,
  )
})

test('a restart goes on with the same minutes', async (t) => {
  const { parts, stopping, start, next } = await watched(t, () => true)
  const watching = firstMinutes(parts)
  stopping.abort(new Error('The node stops.'))
  await t.rejects(watching, /The node stops/)
  const again = await start('1.1.0')
  t.equal(await again.updates.settle(), true)
  t.same(again.file.record.handed, next.file.record.handed)
  const { handed } = again.file.record
  if (handed === null) throw new Error('Nothing is watched.')
  const signal = new AbortController().signal
  const longAgo = { ...handed, servedAt: '2020-01-01T00:00:00Z' }
  await again.file.change({ handed: longAgo })
  await firstMinutes({ ...parts, file: again.file, signal })
  t.equal(again.updates.progress, 'Version 1.1.0 is installed.', 'the minutes were over')
  await again.file.change({ handed: { ...handed, servedAt: '2099-01-01T00:00:00Z' } })
  await firstMinutes({ ...parts, file: again.file, signal, lastsMs: 20 })
  t.equal(again.file.record.handed, null, 'a clock that was set back does not make them longer')
})
