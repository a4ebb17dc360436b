import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import { test } from 'tap'
import { forge } from './fixtures/archives.ts'
import { makeKey } from './fixtures/signing.ts'
import { serve } from './fixtures/static-server.ts'
import { machine, releaseFiles, TufRepository } from './fixtures/tuf-repository.ts'
import { never, tufSubject } from './fixtures/tuf-subject.ts'

const longAgo = '2020-01-01T00:00:00Z'

test('an older state that was validly signed is refused, also after a restart', async (t) => {
  const { repository, found, open } = await tufSubject(t)
  await repository.publish('1.2.0')
  t.equal(await found(), '1.2.0')
  await repository.goBack()
  await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /older state than this node has seen/ })
  await t.rejects(open().latest('1.0.0', never), { code: 'UPSTREAM_ERROR', message: /older state/ })
})

test('a publisher that names an older release as the latest does not lead the version back', async (t) => {
  const { repository, source } = await tufSubject(t)
  await repository.publish('1.2.0')
  const entries = ['1.2.0', '1.1.0'].map((version) => ({
    version,
    notes: '',
    archive: repository.archivePath(version),
  }))
  await repository.putIndex({ latest: '1.1.0', releases: entries })
  await repository.write()
  t.equal(await source.latest('1.2.0', never), null)
  t.match(await source.latest('1.0.0', never), { version: '1.1.0' })
})

test('metadata that nobody renews is refused: somebody may hold newer versions back', async (t) => {
  for (const role of ['timestamp', 'snapshot', 'targets', 'releases'] as const) {
    const { repository, found } = await tufSubject(t)
    repository.expires[role] = longAgo
    await repository.write()
    await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /has expired/ }, role)
    delete repository.expires[role]
    await repository.write()
    t.equal(await found(), '1.1.0', 'once it is renewed, it is good again')
  }
})

test('a wrong clock delays what expires, and never makes older states acceptable', async (t) => {
  const { repository, found } = await tufSubject(t)
  await repository.publish('1.2.0')
  t.equal(await found(), '1.2.0')
  const inYears = (years: number) => Date.now() + years * 365 * 86_400_000
  t.teardown(() => mock.timers.reset())
  mock.timers.enable({ apis: ['Date'], now: inYears(10) })
  await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /clock of this machine is wrong, set it/ })
  mock.timers.setTime(inYears(-20))
  t.equal(await found(), '1.2.0')
  await repository.goBack()
  await t.rejects(found(), { message: /older state/ })
})

test('parts of different states are refused', async (t) => {
  const { repository, found } = await tufSubject(t)
  t.equal(await found(), '1.1.0')
  await repository.publish('1.2.0')
  const metadata = join(repository.folder, 'metadata')
  writeFileSync(join(metadata, '3.releases.json'), readFileSync(join(metadata, '2.releases.json')))
  await t.rejects(found(), { code: 'UPSTREAM_ERROR' }, 'older targets under a new name')

  const other = await tufSubject(t)
  t.equal(await other.found(), '1.1.0')
  await other.repository.publish('1.2.0')
  await other.repository.writeTimestamp(1)
  await t.rejects(other.found(), { code: 'UPSTREAM_ERROR', message: /older state/ }, 'an older snapshot')
})

test('metadata with the signature of another key is refused', async (t) => {
  for (const role of ['timestamp', 'snapshot', 'targets', 'releases'] as const) {
    const { repository, found } = await tufSubject(t)
    const { [role]: right } = repository.keys
    if (role === 'releases') {
      // The role that delegates still names the former key.
      const stranger = await TufRepository.create()
      t.teardown(() => stranger.remove())
      await stranger.publish('1.5.0')
      const name = 'metadata/2.releases.json'
      writeFileSync(join(repository.folder, name), readFileSync(join(stranger.folder, name)))
    } else {
      repository.keys[role] = [makeKey()]
      await repository.write()
    }
    await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /not signed by its publisher/ }, role)
    repository.keys[role] = right
    await repository.write()
    t.equal(await found(), '1.1.0')
  }
})

test('a whole repository of somebody else is refused', async (t) => {
  const { root, server, open } = await tufSubject(t)
  const stranger = await TufRepository.create()
  t.teardown(() => stranger.remove())
  await stranger.publish('9.0.0')
  await using other = await serve(stranger.folder)
  await t.rejects(open({ url: other.url }).latest('1.0.0', never), { code: 'UPSTREAM_ERROR' })
  t.match(await open({ url: server.url, root }).latest('1.0.0', never), { version: '1.1.0' })
})

test('new root keys need the signatures of enough old ones and enough new ones', async (t) => {
  const { repository, found } = await tufSubject(t, { rootKeys: 3 })
  t.equal(await found(), '1.1.0')
  const old = repository.keys.root
  repository.keys.root = [makeKey(), makeKey(), makeKey()]
  await repository.writeRoot([...old.slice(1), ...repository.keys.root])
  await t.rejects(
    found(),
    { code: 'UPSTREAM_ERROR', message: /not signed by its publisher/ },
    'two of three old keys',
  )
  await repository.writeRoot([...old, ...repository.keys.root], 2)
  t.equal(await found(), '1.1.0', 'all of them')
  await repository.publish('1.2.0')
  t.equal(await found(), '1.2.0', 'the new keys are trusted from then on')
})

test('replaced keys are not trusted again with the root keys of another release', async (t) => {
  const { repository, root, found } = await tufSubject(t)
  t.equal(await found(), '1.1.0')
  const stolen = { ...repository.keys }
  await repository.writeRoot()
  for (const role of ['timestamp', 'snapshot', 'targets', 'releases'] as const) {
    repository.keys[role] = [makeKey()]
    await repository.writeRoot()
  }
  await repository.publish('1.2.0')
  t.equal(await found(), '1.2.0')

  repository.keys = stolen
  await repository.publish('9.0.0')
  const rootOf = (version: number) => join(repository.folder, `metadata/${version}.root.json`)
  const between = readFileSync(rootOf(2))
  for (const version of [2, 3, 4, 5, 6]) rmSync(rootOf(version))
  await t.rejects(found(), { code: 'UPSTREAM_ERROR' })
  writeFileSync(root, between)
  await t.rejects(
    found(),
    { code: 'UPSTREAM_ERROR' },
    'a release that was built before the keys were replaced',
  )
  writeFileSync(root, readFileSync(repository.rootFile))
  await t.rejects(found(), { code: 'UPSTREAM_ERROR' }, 'the release before, after a way back')
})

test('replaced keys are not trusted again after a way back from a release that a person has unpacked', async (t) => {
  const { repository, root, found } = await tufSubject(t)
  const rootOf = (version: number) => join(repository.folder, `metadata/${version}.root.json`)
  const first = readFileSync(root)
  t.equal(await found(), '1.1.0')
  const stolen = { ...repository.keys }
  for (const role of ['timestamp', 'snapshot', 'targets', 'releases'] as const) {
    repository.keys[role] = [makeKey()]
    await repository.writeRoot()
  }
  await repository.publish('1.2.0')
  const roots = [2, 3, 4, 5].map((version) => readFileSync(rootOf(version)))
  for (const version of [2, 3, 4, 5]) rmSync(rootOf(version))
  const [between, last] = [roots[1], roots[3]]
  if (between === undefined || last === undefined) throw new Error('There are four roots.')
  writeFileSync(root, last)
  t.equal(await found(), '1.2.0', 'the release that was unpacked knows the new keys')

  repository.keys = stolen
  await repository.publish('9.0.0')
  for (const [name, pinned] of Object.entries({
    'the newest': last,
    'the first': first,
    'an unknown': between,
  })) {
    writeFileSync(root, pinned)
    await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /not signed/ }, `${name} root`)
  }
  const another = await TufRepository.create()
  t.teardown(() => another.remove())
  await another.publish('2.0.0')
  writeFileSync(root, readFileSync(another.rootFile))
  await t.rejects(found(), { code: 'UPSTREAM_ERROR' })
  writeFileSync(root, first)
  t.equal(await found(), '9.0.0', 'a root of another lineage begins the trust anew')
})

test('an archive of a size that no release has is refused, whatever space there is', async (t) => {
  const { repository, server, source, place } = await tufSubject(t)
  repository.claimLength(repository.archivePath('1.1.0'), 2 ** 40)
  await repository.write()
  server.requests.length = 0
  await t.rejects(source.download({ version: '1.1.0' }, await place(), { signal: never }), {
    code: 'UPSTREAM_ERROR',
    message: /a file of more than 1073741824 bytes/,
  })
  t.notOk(server.requests.some((path) => path.includes('tar.gz')))
})

test('data without end is cut off', async (t) => {
  const { server, found, source, place, folder } = await tufSubject(t)
  let sent = 0
  const flood = (wanted: RegExp) => {
    server.behave = (path, response) => {
      if (!wanted.test(path)) return false
      const piece = Buffer.alloc(64 * 1024, ' ')
      const more = () => {
        while (!response.destroyed && response.write(piece)) sent += piece.length
      }
      response.on('drain', more)
      more()
      return true
    }
  }
  for (const name of [/root\.json/, /timestamp/, /snapshot/, /releases/, /index/]) {
    flood(name)
    await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /more than the \d+ bytes/ }, String(name))
  }
  flood(/tar\.gz/)
  const target = await place()
  await t.rejects(source.download({ version: '1.1.0' }, target, { signal: never }), {
    code: 'UPSTREAM_ERROR',
  })
  t.strictSame(readdirSync(target), [])
  t.strictSame(readdirSync(join(folder, 'downloads')), [], 'nothing is left')
  t.ok(sent < 64 * 1024 ** 2, `${sent} bytes were sent`)
})

test('a server that stands still or trickles is given up', async (t) => {
  const pace = { idleMs: 200, bytesPerSecond: 64 * 1024 }
  const { server, found, source, place } = await tufSubject(t, { pace })
  const slow = { code: 'UPSTREAM_TIMEOUT', message: /too slow/ }
  server.behave = () => true
  await t.rejects(found(), slow, 'no answer')
  server.behave = (_path, response) => response.write('{')
  await t.rejects(found(), slow, 'an answer that stands still')
  const timers: NodeJS.Timeout[] = []
  t.teardown(() => timers.forEach(clearInterval))
  server.behave = (path, response) => {
    if (!path.includes('tar.gz')) return false
    timers.push(setInterval(() => response.write('.'), 20))
    return true
  }
  const target = await place()
  await t.rejects(source.download({ version: '1.1.0' }, target, { signal: never }), slow, 'a trickle')
  t.strictSame(readdirSync(target), [])
})

test('a server that changes the protocol is given up', async (t) => {
  const { server, found } = await tufSubject(t)
  server.behave = (_path, { socket }) =>
    socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n') === true
  await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /the status 101/ })
})

test('many root keys, each of which comes just in time, do not hold a check forever', async (t) => {
  const { server, found } = await tufSubject(t, { metadataMs: 300 })
  server.behave = (path, response) => {
    if (!path.includes('root.json')) return false
    setTimeout(() => response.writeHead(404).end(), 10_000).unref()
    return true
  }
  await t.rejects(found(), { code: 'UPSTREAM_TIMEOUT' })
})

test('a redirect is not followed', async (t) => {
  const { repository, server, found } = await tufSubject(t)
  await using elsewhere = await serve(repository.folder)
  server.behave = (path, response) => {
    response.writeHead(302, { location: new URL(path, elsewhere.url).href }).end()
    return true
  }
  await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /leads to another address/ })
  t.strictSame(elsewhere.requests, [], 'nobody was asked there')
})

test('an archive with anything but files and folders within it is refused, and leaves nothing', async (t) => {
  const top = 'nodekeep-2.0.0'
  const json = { path: `${top}/release.json`, text: releaseFiles('2.0.0')['release.json'] ?? '' }
  const archives = {
    'a path that leads out': forge([json, { path: `${top}/../../out`, text: 'x' }]),
    'an absolute path': forge([json, { path: '/tmp/nodekeep-out', text: 'x' }]),
    'a symbolic link': forge([json, { path: `${top}/link`, type: 'SymbolicLink', linkpath: '/etc' }]),
    'a hard link': forge([json, { path: `${top}/link`, type: 'Link', linkpath: `${top}/release.json` }]),
    'an entry twice': forge([json, json]),
    'two top folders': forge([json, { path: 'other/file', text: 'x' }]),
    'no top folder': forge([{ ...json, path: 'release.json' }]),
    'no release.json': forge([{ path: `${top}/file`, text: 'x' }]),
    'another version': forge([{ ...json, text: JSON.stringify({ version: '1.0.0', platform: machine }) }]),
    'another machine': forge([
      { ...json, text: JSON.stringify({ version: '2.0.0', platform: 'plan9-mips' }) },
    ]),
    'bytes that are no archive': Buffer.from('no archive'),
  }
  const { repository, source, place } = await tufSubject(t)
  for (const [name, archive] of Object.entries(archives)) {
    await repository.publish('2.0.0', { archive })
    const target = await place()
    const download = source.download({ version: '2.0.0' }, target, { signal: never })
    await t.rejects(download, { code: 'UPSTREAM_ERROR' }, name)
    t.strictSame(readdirSync(target), [], name)
  }
})

test('a list of releases that makes no sense is refused, although it is signed', async (t) => {
  const { repository, found } = await tufSubject(t)
  const entry = { version: '1.1.0', notes: '', archive: repository.archivePath('1.1.0') }
  const listOf = (version: string) => ({
    latest: version,
    releases: [{ ...entry, version, archive: repository.archivePath(version) }],
  })
  const lists: Record<string, unknown> = {
    'no JSON': '{',
    'no object': '[]',
    'no releases': { latest: '1.1.0' },
    'a latest release that is not listed': { latest: '1.2.0', releases: [entry] },
    'a version with a path': { latest: '../1', releases: [{ ...entry, version: '../1' }] },
    'a version that cannot be compared': listOf('1.0.99999999999999999999'),
    'a version with zeros before it': listOf('01.1.0'),
    'notes that are no text': { latest: '1.1.0', releases: [{ ...entry, notes: {} }] },
    'an archive for another machine': {
      latest: '1.1.0',
      releases: [{ ...entry, archive: 'plan9-mips/nodekeep-1.1.0-plan9-mips.tar.gz' }],
    },
  }
  for (const [name, index] of Object.entries(lists)) {
    await repository.putIndex(index)
    await repository.write()
    await t.rejects(found(), { code: 'UPSTREAM_ERROR', message: /list of releases/ }, name)
  }
})
