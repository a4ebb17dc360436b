import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { attempt } from './fixtures/fake-releases.ts'
import { updatesSubject } from './fixtures/updates-subject.ts'

test('an update is downloaded, checked and handed to the supervisor', async (t) => {
  const { updates, source, releases, file, start } = await updatesSubject(t)
  const texts: string[] = []
  const note = async () => void texts.push(await updates.progress())
  source.before = note
  source.amid = note
  t.equal(await updates.progress(), 'No update runs.')
  const { success, message } = await updates.install()
  t.equal(success, true)
  t.match(message, /^Version 1\.1\.0 is ready\./)
  t.same(texts, ['Looking for a new version: 0 %', 'Downloading version 1.1.0: 40 %'])
  t.equal(await updates.progress(), 'Changing to version 1.1.0: 90 %')
  t.equal(updates.step?.name, 'changing')
  t.same(releases.asked, ['change to /new/1.1.0 within 1000'])
  t.same(file.record.probation, { version: '1.1.0', passed: ['port'] })

  const next = await start('1.1.0')
  t.equal(next.updates.step, null)
  releases.attempts = [attempt('1.0.0', '1.1.0', 'installed')]
  t.equal(await next.updates.progress(), 'Version 1.1.0 is installed, and is being watched.')
})

test('a hot fix is installed while the version before is being watched, but not without a person', async (t) => {
  const { updates, source, releases, start } = await updatesSubject(t)
  await updates.install()
  const { updates: watched, file } = await start('1.1.0')
  source.newest = { version: '1.1.1', notes: 'It works.' }
  releases.asked.length = 0
  await watched.checkDaily(true)
  t.same(releases.asked, [])

  releases.refusal = 'The release changes already.'
  await t.rejects(watched.install(), { code: 'CONFLICT' })
  t.match(file.record.probation, { version: '1.1.0', passed: ['port'] }, 'the version is still watched')
  releases.refusal = null
  t.match(await watched.install(), { success: true })
  t.same(releases.asked, ['change to /new/1.1.1 within 1000'])
  t.match((await start('1.1.1')).file.probationOf('1.1.1'), { passed: ['port'] })
  t.match(
    (await start('1.1.0')).file.probationOf('1.1.0'),
    { passed: ['port'] },
    'if it does not pass its trial',
  )
})

test('one update at a time', async (t) => {
  const { updates, source } = await updatesSubject(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  source.amid = () => promise
  const first = updates.install()
  await t.rejects(updates.install(), { code: 'CONFLICT', message: /runs already/ })
  await t.rejects(updates.check(), { code: 'CONFLICT', message: /runs already/ })
  await t.rejects(updates.goBack(), { code: 'CONFLICT', message: /runs already/ })
  resolve()
  t.match(await first, { success: true })
})

test('checks at the same time ask the source once', async (t) => {
  const { updates, source } = await updatesSubject(t)
  const results = await Promise.all([updates.check(), updates.check(), updates.check()])
  t.equal(source.checks, 1)
  for (const result of results) t.same(result, { updateAvailable: true, latestVersion: '1.1.0' })
})

test('nothing to install is no failure', async (t) => {
  const { updates, source, file } = await updatesSubject(t)
  source.newest = null
  t.match(await updates.install(), { success: false, message: /1\.0\.0 is the newest one/ })
  t.equal(updates.step, null)
  t.same(await updates.history(), [])
  t.equal(file.record.problem, null)
})

test('a version that could not run here is refused, and named', async (t) => {
  const { updates, releases, folder, lines } = await updatesSubject(t)
  releases.found = { problems: ['The plugin "acme" needs SDK ^0.0.1.'], warnings: [], canRollBack: true }
  await t.rejects(updates.install(), { code: 'CONFLICT', message: /could not run.*"acme" needs SDK/ })
  t.notOk(existsSync(join(folder, 'releases/new/1.1.0')), 'what was unpacked is removed')
  t.same(releases.asked, [])
  t.equal(updates.step, null)
  t.match(await updates.progress(), /^Version 1\.1\.0 was not installed\. .*acme/)
  t.same(await updates.history(), [], 'the supervisor records changes of the release, and there was none')
  t.match(lines, [{ event: 'update-started' }, { event: 'update-failed', reason: /acme/ }])
})

test('an optional plugin that would not load is named, and does not keep the update', async (t) => {
  const { updates, releases } = await updatesSubject(t)
  releases.found = { problems: [], warnings: ['The plugin "extra" will not load.'], canRollBack: true }
  t.match(await updates.install(), { success: true, message: /"extra" will not load/ })
})

test('a version without a way back is installed only if a person says so', async (t) => {
  const { updates, releases, file, start } = await updatesSubject(t)
  releases.found = { problems: [], warnings: [], canRollBack: false }
  await t.rejects(updates.install(), {
    code: 'CONFLICT',
    message: /no way back to version 1\.0\.0.*--without-way-back/,
  })
  t.equal(file.record.withoutWayBack, '1.1.0', 'the status can say so beforehand')
  const again = await start()
  t.match(await again.updates.install({ withoutRollback: true }), { success: true })
})

test('a failure of the source is told, also after a restart', async (t) => {
  const { updates, source, file, start } = await updatesSubject(t)
  source.amid = () => {
    throw new NodekeepError('UPSTREAM_ERROR', 'The archive was changed.')
  }
  await t.rejects(updates.install(), { code: 'UPSTREAM_ERROR' })
  t.match(await (await start()).updates.progress(), /not installed\. The archive was changed\./)
  source.before = () => {
    throw new Error('a fault with internals')
  }
  await t.rejects(updates.check(), /internals/)
  t.match(file.record.checkProblem, /log says more/, 'faults are for the log')
  t.equal(updates.newer?.version, '1.1.0', 'what an earlier check found stays')
  source.before = () => {}
  await updates.check()
  t.equal(file.record.checkProblem, null)
})

test('a supervisor that refuses leaves this version as it is', async (t) => {
  const { updates, releases, file } = await updatesSubject(t)
  releases.refusal = 'The release changes already.'
  await t.rejects(updates.install(), { code: 'CONFLICT', message: 'The release changes already.' })
  t.equal(file.record.probation, null)
  t.equal(await updates.progress(), 'Version 1.1.0 was not installed. The release changes already.')
})

test('an update that a killed node has begun is told as failed', async (t) => {
  const { updates, source, start } = await updatesSubject(t)
  source.amid = () => new Promise(() => {})
  void updates.install()
  while (!(await updates.progress()).startsWith('Downloading')) await new Promise(setImmediate)
  const next = await start()
  t.match(await next.updates.progress(), /not installed\. The node ended before .* Install it again/)
  source.amid = () => {}
  t.match(await next.updates.install(), { success: true })
})

test('a stop ends a download', async (t) => {
  const { updates, source, stopping } = await updatesSubject(t)
  source.amid = (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
  const installing = updates.install()
  while (!(await updates.progress()).startsWith('Downloading')) await new Promise(setImmediate)
  stopping.abort(new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping.'))
  await t.rejects(installing, { code: 'SERVICE_UNAVAILABLE' })
  t.match(await updates.progress(), /not installed\. The node is stopping/)
})

test('a trial that failed is told by the version that runs again', async (t) => {
  const { updates, releases, start } = await updatesSubject(t)
  await updates.install()
  releases.attempts = [attempt('1.0.0', '1.1.0', 'running')]
  t.equal(await (await start('1.0.0')).updates.progress(), 'Changing to version 1.1.0.')
  releases.attempts = [attempt('1.0.0', '1.1.0', 'failed', 'It did not start.')]
  const again = await start('1.0.0')
  t.equal(
    await again.updates.progress(),
    'Version 1.1.0 did not work, so version 1.0.0 runs again. It did not start.',
  )
  t.equal(await again.updates.leftBecause('1.1.0'), 'It did not start.')
  t.equal(await again.updates.leftBecause('1.2.0'), null)
})

test('a version that a person has started instead of the new one does not blame the new one', async (t) => {
  const { updates, releases, source, start } = await updatesSubject(t)
  await updates.install()
  releases.attempts = [attempt('1.0.0', '1.1.0', 'installed'), attempt('1.1.0', '1.2.0', 'installed')]
  const { updates: third } = await start('1.2.0')
  t.equal(await third.progress(), 'Version 1.2.0 is installed.')
  t.equal(await third.leftBecause('1.1.0'), null)
  source.newest = { version: '1.3.0', notes: '' }
  t.match(await third.install(), { success: true }, 'nothing is being watched')
})

test('a way back days later is told', async (t) => {
  const { releases, start } = await updatesSubject(t)
  releases.attempts = [
    attempt('1.0.0', '1.1.0', 'installed'),
    attempt('1.1.0', '1.0.0', 'went back', 'It ended three times within ten minutes.'),
  ]
  const { updates } = await start('1.0.0')
  t.match(await updates.progress(), /went back to version 1\.0\.0\. It ended three times/)
  t.match(await updates.leftBecause('1.1.0'), /three times/)
})

test('the owner goes back while the way is open', async (t) => {
  const { updates, releases, start } = await updatesSubject(t)
  releases.refusal = 'The way back is closed.'
  await t.rejects(
    updates.goBack(),
    { code: 'CONFLICT', message: releases.refusal },
    'the supervisor says why',
  )
  releases.way = { version: '0.9.0', until: new Date() }
  releases.refusal = 'The release changes already.'
  await t.rejects(updates.goBack(), { message: 'The release changes already.' })
  t.equal(updates.step, null)
  t.equal(await updates.progress(), 'No update runs.')
  releases.refusal = null
  releases.wayProblems = ['The key "update.color" is not known.']
  await t.rejects(updates.goBack(), { code: 'CONFLICT', message: /0\.9\.0 could not start .*update\.color/ })
  releases.wayProblems = []
  const goingBack = updates.goBack()
  await t.rejects(updates.goBack(), { code: 'CONFLICT', message: /runs already/ })
  await t.rejects(updates.install(), { code: 'CONFLICT', message: /runs already/ })
  t.match(await goingBack, { success: true, message: /goes back to version 0\.9\.0/ })
  t.same(releases.asked, ['go back: The owner of the node asked for it.'])
  releases.attempts = [attempt('1.0.0', '0.9.0', 'went back', 'The owner of the node asked for it.')]
  const former = await start('0.9.0')
  t.match(await former.updates.progress(), /went back to version 0\.9\.0/)
})

test('a node that cannot install says what to do instead', async (t) => {
  const { source, releases, start } = await updatesSubject(t)
  const sources = await start('1.0.0', 'sources')
  await t.rejects(sources.updates.install(), { code: 'CONFLICT', message: /"git pull"/ })
  const packages = await start('1.0.0', 'packages')
  await t.rejects(packages.updates.install(), { code: 'CONFLICT', message: /"npm update"/ })
  source.isConfigured = false
  const none = await start()
  await t.rejects(none.updates.install(), { code: 'CONFLICT', message: /update-tuf\.url/ })
  t.same(await none.updates.check(), { updateAvailable: false, latestVersion: '1.0.0' })
  t.same(await none.updates.history(), [])
  releases.folder = null
  await t.rejects(none.updates.goBack(), { code: 'CONFLICT', message: /no supervisor runs this node/ })
})

test('the daily check installs only if it may, and never again what has failed on trial', async (t) => {
  const { updates, source, releases, start } = await updatesSubject(t)
  await updates.checkDaily(false)
  t.equal(updates.newer?.version, '1.1.0')
  t.same(releases.asked, [])
  releases.found = { problems: [], warnings: [], canRollBack: false }
  await updates.checkDaily(true)
  t.same(releases.asked, [], 'no way back')
  t.match(await updates.progress(), /no way back/)
  releases.found = { problems: [], warnings: [], canRollBack: true }
  await updates.checkDaily(true)
  t.same(releases.asked, [], 'a person decides')
  source.newest = { version: '1.1.1', notes: '' }
  releases.attempts = [attempt('1.0.0', '1.1.1', 'failed', 'It did not start.')]
  await updates.checkDaily(true)
  t.same(releases.asked, [], 'it has failed on trial')
  source.newest = { version: '1.2.0', notes: '' }
  source.before = () => {
    throw new NodekeepError('UPSTREAM_ERROR', 'The source cannot be reached.')
  }
  await updates.checkDaily(true)
  source.before = () => {}
  const sources = await start('1.0.0', 'sources')
  await sources.updates.checkDaily(true)
  t.same(releases.asked, [], 'this node cannot install')
  source.amid = () => {
    throw new NodekeepError('INSUFFICIENT_STORAGE', 'The disk is full.')
  }
  await updates.checkDaily(true)
  source.amid = () => {}
  t.match(await updates.progress(), /The disk is full/)
  releases.attempts = [{ ...attempt('1.0.0', '1.2.0', 'failed', 'The disk was full.'), failedOnTrial: false }]
  await updates.checkDaily(true)
  t.same(releases.asked, ['change to /new/1.2.0 within 1000'], 'a full disk is no fault of the version')
  await updates.checkDaily(true)
  t.equal(releases.asked.length, 1, 'an update runs')
})

test('a damaged record counts as none, and a version that is not newer is none', async (t) => {
  const { updates, folder, start } = await updatesSubject(t)
  await updates.check()
  t.equal((await start('1.0.0')).updates.newer?.version, '1.1.0', 'it survives a restart')
  t.equal((await start('1.1.0')).updates.newer, null)
  t.equal((await start('1.10.0')).updates.newer, null)
  const path = join(folder, 'own/update.json')
  writeFileSync(path, '{"color":"red"}')
  await (await start()).file.change({ withoutWayBack: '1.1.0' })
  const stored = JSON.parse(readFileSync(path, 'utf8'))
  t.match(stored, { color: 'red', withoutWayBack: '1.1.0' }, 'what a newer version has added stays')
  writeFileSync(path, '{"latest":')
  t.equal((await start('1.0.0')).updates.newer, null)
})

test('a problem is told until the release changes', async (t) => {
  const { updates, source, releases, start } = await updatesSubject(t)
  releases.attempts = [attempt('0.9.0', '1.0.0', 'installed')]
  source.amid = () => {
    throw new NodekeepError('UPSTREAM_ERROR', 'The archive was changed.')
  }
  await t.rejects(updates.install())
  t.match(await (await start()).updates.progress(), /The archive was changed/)
  const later = { ...attempt('1.0.0', '1.1.0', 'failed', 'It did not start.'), startedAt: new Date(0) }
  releases.attempts = [...releases.attempts, later]
  t.match(await updates.progress(), /It did not start/, 'whatever the clock says')
})

test('an update that is lost while the supervisor is asked is told', async (t) => {
  const { updates, releases, start } = await updatesSubject(t)
  const asked = Promise.withResolvers<void>()
  releases.changeTo = () => {
    asked.resolve()
    return new Promise(() => {})
  }
  void updates.install()
  await asked.promise
  const next = await start()
  t.match(await next.updates.progress(), /1\.1\.0 was not installed\. The node ended before/)
  releases.attempts = [attempt('1.0.0', '1.1.0', 'running')]
  t.equal(await next.updates.progress(), 'Changing to version 1.1.0.', 'the supervisor has it')
})
