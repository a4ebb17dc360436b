import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onSmallDisk } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { SupervisedReleases } from '../../src/releases/supervised-releases.ts'

const cli = fileURLToPath(new URL('../../../../kernel/bin/nodekeep.js', import.meta.url))
const never = new AbortController().signal
/** The steps of the release in use. */
const known = [{ id: '01-known', change: 'contract' }]

/** Writes a release that runs these sources. Each run of it adds a line to the file `runs`. */
function writeRelease(folder: string, version: string, schema: readonly object[] = known): string {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'release.json'), JSON.stringify({ version, schema }))
  const command = `exec "${process.execPath}" --conditions=nodekeep-source "${cli}" "$@"`
  writeFileSync(join(folder, 'bin/nodekeep'), `#!/bin/sh\necho "$@" >> "${folder}/runs"\n${command}\n`)
  chmodSync(join(folder, 'bin/nodekeep'), 0o755)
  return folder
}

/** Makes the releases of a node with a configuration, below a supervisor that refuses nothing. */
function releasesWith(t: Test, config: object) {
  const folder = t.testdir({ data: { releases: {} } })
  const file = join(folder, 'nodekeep.json')
  const configure = (content: object) => writeFileSync(file, JSON.stringify({ data: './data', ...content }))
  configure(config)
  const path = join(folder, 'data/releases')
  symlinkSync(writeRelease(join(path, '1.0.0'), '1.0.0'), join(path, 'current'))
  const link = { releases: path, args: ['--config', file], ask: async () => {} }
  return { folder, path, configure, releases: new SupervisedReleases({ link, configurationFiles: [file] }) }
}

test('a release checks the configuration of the node, and the plugins that it names', async (t) => {
  const { folder, releases, configure } = releasesWith(t, {})
  const release = writeRelease(join(folder, 'next'), '2.0.0')
  t.same(await releases.check(release, never), { problems: [], warnings: [], canRollBack: true })
  const missing = { from: './not-there' }
  configure({
    server: { color: 'red' },
    plugins: { needed: missing, extra: { ...missing, required: false } },
  })
  const { problems, warnings } = await releases.check(release, never)
  t.match(problems, [/server\.color/], 'the kernel refuses its part first')
  t.same(warnings, [])
  configure({ plugins: { needed: missing, extra: { ...missing, required: false } } })
  const checked = await releases.check(release, never)
  t.match(checked, { problems: [/"needed"/], warnings: [/"extra"/] })
  t.equal(checked.problems.length, 1)
})

test('the findings of a former release are understood', async (t) => {
  const { folder, releases } = releasesWith(t, {})
  const release = writeRelease(join(folder, 'next'), '2.0.0')
  const recorded = fileURLToPath(
    new URL('../supervisor/fixtures/recorded/config-check.json', import.meta.url),
  )
  writeFileSync(join(release, 'bin/nodekeep'), `#!/bin/sh\ncat "${recorded}"\nexit 1\n`)
  const found = await releases.check(release, never)
  t.match(found, { problems: [/"needed"/], warnings: [/"extra"/] })
  t.equal(found.problems.length, 1)
})

test('a release that changes data for good has no way back', async (t) => {
  const { folder, releases } = releasesWith(t, {})
  const canRollBackWith = async (step: object) =>
    (await releases.check(writeRelease(join(folder, 'next'), '2.0.0', [...known, step]), never)).canRollBack
  t.equal(await canRollBackWith({ id: '99-more', change: 'expand' }), true)
  t.equal(await canRollBackWith({ id: '99-less', change: 'contract' }), false)
  t.equal(await canRollBackWith({ id: '99-odd', change: 'unheard of' }), false)
})

test('a release that cannot answer is a problem, and none is an error', async (t) => {
  const { folder, releases } = releasesWith(t, {})
  const release = writeRelease(join(folder, 'next'), '2.0.0')
  writeFileSync(join(release, 'bin/nodekeep'), '#!/bin/sh\necho "no such  library" >&2\nexit 127\n')
  t.match(await releases.check(release, never), {
    problems: ['The release cannot check the configuration: no such library'],
  })
  await t.rejects(releases.check(join(folder, 'nowhere'), never), { code: 'VALIDATION_ERROR' })
  const stop = new AbortController()
  stop.abort(new Error('The node stops.'))
  await t.rejects(releases.check(release, stop.signal), /The node stops/)
})

test('without a supervisor, nothing can change', async (t) => {
  const releases = new SupervisedReleases({ link: null, configurationFiles: [] })
  t.equal(releases.folder, null)
  t.equal(await releases.rollback(), null)
  t.same(await releases.rollbackProblems(), [])
  t.same(await releases.history(), [])
  await t.rejects(releases.prepare('1.0.0'), { code: 'CONFLICT', message: /bin\/nodekeep supervise/ })
  await t.rejects(releases.goBack('A test asks for it.'), { code: 'CONFLICT' })
})

test('the former release names the keys that it would refuse, and is asked once for each state', async (t) => {
  const { folder, path, configure, releases } = releasesWith(t, {})
  t.same(await releases.rollbackProblems(), [], 'there is no way back')
  const former = writeRelease(join(folder, 'former'), '1.0.0')
  symlinkSync(former, join(path, 'former'))
  const admission = { version: '2.0.0', former: '1.0.0', closedBy: null }
  writeFileSync(join(path, 'state.json'), JSON.stringify({ format: 1, change: null, admission }))
  t.match(await releases.rollback(), { version: '1.0.0' })
  const admitting = { step: 'admitting', from: '1.0.0', to: '2.0.0', closedBy: null }
  writeFileSync(join(path, 'state.json'), JSON.stringify({ format: 1, change: admitting, admission: null }))
  t.match(
    await releases.rollback(),
    { version: '1.0.0' },
    'the supervisor could not store the end of the change',
  )
  t.same(await releases.rollbackProblems(), [])
  const runs = () => readFileSync(join(former, 'runs'), 'utf8').trim().split('\n').length
  t.same(await Promise.all([releases.rollbackProblems(), releases.rollbackProblems()]), [[], []])
  t.equal(runs(), 1)
  configure({ server: { color: 'red' } })
  const [one, other] = await Promise.all([releases.rollbackProblems(), releases.rollbackProblems()])
  t.match(one, [/server\.color \(.*nodekeep\.json.*\)/])
  t.same(other, one)
  t.equal(runs(), 2)
  configure({})
  t.same(await releases.rollbackProblems(), [])
})

test('a disk on which no program may run is refused, with what to do', async (t) => {
  const found = await onSmallDisk('16m', new URL('./fixtures/noexec-program.ts', import.meta.url))
  if (found === null) return void t.pass('a disk without programs', { skip: 'Nothing can be mounted here.' })
  t.match(found, {
    prepared: /new\/1\.0\.0$/,
    code: 'CONFLICT',
    message: /No program may run in .*data\/releases.*"noexec".*"releases\.folder"/,
    left: [],
  })
})

test('a change whose end the supervisor is just storing is in the history once', async (t) => {
  const { path, releases } = releasesWith(t, {})
  const startedAt = '2026-11-23T12:00:00.000Z'
  const change = { step: 'admitting', from: '1.0.0', to: '2.0.0', startedAt }
  writeFileSync(join(path, 'state.json'), JSON.stringify({ format: 1, change, admission: null }))
  const running = { from: '1.0.0', to: '2.0.0', startedAt: new Date(startedAt), result: 'running' }
  t.match(await releases.history(), [running])
  const attempt = { ...running, endedAt: startedAt, result: 'installed', reason: null, failedOnTrial: false }
  writeFileSync(join(path, 'history.json'), JSON.stringify([attempt]))
  const history = await releases.history()
  t.equal(history.length, 1)
  t.match(history, [{ to: '2.0.0', result: 'installed' }])
})
