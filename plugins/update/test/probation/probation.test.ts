import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import { type Test, test } from 'tap'
import { Probation } from '../../src/probation/probation.ts'
import type { Probe } from '../../src/probation/probes.ts'
import { attempt } from '../fixtures/fake-releases.ts'
import { updatesSubject } from '../fixtures/updates-subject.ts'

/** Installs version 1.1.0, starts it, and watches it. */
async function watched(t: Test, works: () => boolean) {
  const { updates, releases, folder, start, lines, stopping } = await updatesSubject(t)
  t.teardown(() => stopping.abort())
  await updates.install()
  releases.attempts = [attempt('1.0.0', '1.1.0', 'installed')]
  const next = await start('1.1.0')
  const probe: Probe = {
    name: 'port',
    maxFailingMs: 10,
    async run() {
      if (!works()) throw new Error('The node does not answer.')
    },
  }
  const log = (line: unknown) => void lines.push(line)
  const services = {
    probes: () => [probe],
    file: next.file,
    releases,
    log: { info: log, warn: log, error: log },
    signal: stopping.signal,
  }
  const options = { lastsMs: 20, everyMs: 1, askAgainMs: 1 }
  const probationOf = (changed: Partial<typeof services> = {}, lastsMs = 20) =>
    new Probation('1.1.0', { ...services, ...changed }, { ...options, lastsMs })
  const watch = (lastsMs?: number) => probationOf({}, lastsMs).watch()
  return { probationOf, watch, releases, folder, lines, stopping, next, start }
}

const sentence = 'Version 1.1.0 did not work in its first minutes. The node does not answer.'

test('a version that works is installed', async (t) => {
  const { watch, releases, lines, next } = await watched(t, () => true)
  await watch()
  t.equal(await next.updates.progress(), 'Version 1.1.0 is installed.')
  t.match(lines.at(-1), { event: 'update-passed', version: '1.1.0' })
  t.same(releases.asked, ['change to /new/1.1.0 within 1000'])
  await next.updates.check()
  await watch()
  t.pass('there is nothing more to watch')
})

test('a version that does not work goes back, and the former one says why', async (t) => {
  let works = true
  const { watch, releases, lines, start } = await watched(t, () => works)
  const watching = watch(60_000)
  works = false
  await watching
  t.equal(releases.asked.at(-1), `go back: ${sentence}`)
  t.match(lines.at(-1), { event: 'update-back', problem: 'The node does not answer.' })
  releases.attempts = [attempt('1.1.0', '1.0.0', 'went back', sentence)]
  const former = await start('1.0.0')
  t.equal(await former.updates.progress(), `The node went back to version 1.0.0. ${sentence}`)
})

test('a version that has used up disk and descriptors is left, and the former one says why', async (t) => {
  const { watch, releases, folder, start } = await watched(t, () => false)
  const own = join(folder, 'own')
  rmSync(own, { recursive: true })
  writeFileSync(own, 'Nothing can be stored.')
  releases.wayProblems = new Error('spawn EMFILE')
  await watch()
  t.equal(releases.asked.at(-1), `go back: ${sentence}`)
  releases.attempts = [attempt('1.1.0', '1.0.0', 'went back', sentence)]
  const former = await start('1.0.0')
  t.equal(await former.updates.progress(), `The node went back to version 1.0.0. ${sentence}`)
})

test('the supervisor is asked until it goes back', async (t) => {
  const { watch, releases, lines, next } = await watched(t, () => false)
  releases.refusal = 'The disk of the releases does not work.'
  releases.way = { version: '1.0.0', until: new Date() }
  const watching = watch()
  while (!(await next.updates.progress()).endsWith(`The node tries to go back. ${releases.refusal}`))
    await new Promise(setImmediate)
  const told = () => lines.filter((line) => (line as { refusal?: string }).refusal === releases.refusal)
  const { length } = releases.refused
  while (releases.refused.length < length + 3) await new Promise(setImmediate)
  t.equal(told().length, 1, 'the log has it once')
  t.not(next.file.record.probation, null, 'a start in between watches it again')
  releases.refusal = null
  await watching
  t.equal(releases.asked.at(-1), `go back: ${sentence}`)
})

test('a version that cannot read the history is watched', async (t) => {
  const { watch, releases } = await watched(t, () => false)
  releases.history = async () => {
    throw new Error('EMFILE')
  }
  await watch()
  t.equal(releases.asked.at(-1), `go back: ${sentence}`)
})

test('a version that works after a start in between is installed, whatever the watch before has said', async (t) => {
  let works = false
  const { probationOf, watch, releases, next, stopping, start } = await watched(t, () => works)
  releases.refusal = 'The disk of the releases does not work.'
  releases.way = { version: '1.0.0', until: new Date() }
  const watching = watch()
  while (!(await next.updates.progress()).includes('tries to go back')) await new Promise(setImmediate)
  stopping.abort(new Error('The node stops.'))
  await t.rejects(watching, /The node stops/)
  works = true
  const again = await start('1.1.0')
  const { signal } = new AbortController()
  await probationOf({ file: again.file, signal }).watch()
  t.equal(await again.updates.progress(), 'Version 1.1.0 is installed.')
})

test('an update that an earlier version has begun is watched', async (t) => {
  const { probationOf, folder, releases, start } = await watched(t, () => false)
  const handed = { from: '1.0.0', to: '1.1.0', startedAt: new Date().toISOString(), passed: ['port'] }
  const path = join(folder, 'own', 'update.json')
  writeFileSync(path, JSON.stringify({ begun: null, handed, failures: [], outcome: null }))
  const { file } = await start('1.1.0')
  await probationOf({ file }).watch()
  t.equal(releases.asked.at(-1), `go back: ${sentence}`)
})

test('without a way back, the version stays, and the reason is known', async (t) => {
  const { watch, releases, next } = await watched(t, () => false)
  releases.refusal = 'Version 1.1.0 has changed data.'
  await watch()
  t.equal(await next.updates.progress(), `${sentence} It stays, since it cannot be left. ${releases.refusal}`)
  t.equal(next.file.record.probation, null, 'it is not watched any more')
})

test('a version that passes while a hot fix is installed leaves the probation of the hot fix alone', async (t) => {
  const { watch, next, start } = await watched(t, () => true)
  await next.file.change({
    probation: { version: '1.1.1', passed: ['x'], former: { version: '1.1.0', passed: ['port'] } },
  })
  await watch()
  t.same(next.file.record.probation, { version: '1.1.1', passed: ['x'] })
  t.equal((await start('1.1.0')).file.probationOf('1.1.0'), null)
})

test('a version stays if the former one would refuse the configuration', async (t) => {
  const { watch, releases, next } = await watched(t, () => false)
  const asked = [...releases.asked]
  releases.wayProblems = ['update.color is not known.']
  await watch()
  t.same(releases.asked, asked)
  t.match(
    await next.updates.progress(),
    /did not work in its first minutes.* It stays, .* update\.color is not known\.$/,
  )
})

test('each start begins the probation again, whatever the clock does', async (t) => {
  const { probationOf, stopping, start } = await watched(t, () => true)
  const probation = probationOf({}, 60_000)
  t.equal(probation.until, null)
  const watching = probation.watch()
  t.teardown(() => mock.timers.reset())
  for (const now of [0, Date.now(), Date.parse('2099-01-01')]) {
    mock.timers.enable({ apis: ['Date'], now })
    const leftMs = (probation.until?.getTime() ?? 0) - now
    t.ok(leftMs > 0 && leftMs <= 60_000, `${leftMs} ms are left`)
    mock.timers.reset()
  }
  stopping.abort(new Error('The node stops.'))
  await t.rejects(watching, /The node stops/)
  const again = await start('1.1.0')
  const { signal } = new AbortController()
  await probationOf({ file: again.file, signal }).watch()
  t.equal(await again.updates.progress(), 'Version 1.1.0 is installed.')
})
