import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'tap'
import { makeKey } from './fixtures/signing.ts'
import { machine } from './fixtures/tuf-repository.ts'
import { never, tufSubject } from './fixtures/tuf-subject.ts'

test('a folder is a source as well', async (t) => {
  const { repository, server, open, place } = await tufSubject(t)
  const source = open({ url: pathToFileURL(`${repository.folder}/`) })
  t.match(await source.latest('1.0.0', never), { version: '1.1.0', notes: 'Notes of 1.1.0' })
  const target = await place()
  await source.download({ version: '1.1.0' }, target, { signal: never })
  t.match(JSON.parse(readFileSync(join(target, 'release.json'), 'utf8')), {
    version: '1.1.0',
    platform: machine,
  })
  t.strictSame(server.requests, [])
})

test('a folder that is not there is told', async (t) => {
  const { open } = await tufSubject(t)
  const source = open({ url: new URL('file:///nodekeep/is/not/here/') })
  await t.rejects(source.latest('1.0.0', never), { code: 'UPSTREAM_ERROR' })
})

test('a repository without releases for this machine has none, and is no failure', async (t) => {
  const { repository, found, source, place } = await tufSubject(t)
  repository.forget(`${machine}/index.json`)
  await repository.write()
  t.equal(await found(), null)
  const download = source.download({ version: '1.1.0' }, await place(), { signal: never })
  await t.rejects(download, { code: 'NOT_FOUND' })
})

test('a check asks for few files, and a second one for fewer', async (t) => {
  const { server, found } = await tufSubject(t)
  await found()
  t.equal(server.requests.length, 6, server.requests.join(' '))
  server.requests.length = 0
  await found()
  t.same(
    server.requests.map((path) => path.replace(/[0-9a-f]{64}/, '…')),
    ['/metadata/2.root.json', '/metadata/timestamp.json', `/targets/${machine}/….index.json`],
  )
})

test('what a crash left in the folder of the plugin does no harm', async (t) => {
  const { folder, found, repository, source } = await tufSubject(t)
  t.equal(await found(), '1.1.0')
  mkdirSync(join(folder, 'metadata.new'))
  writeFileSync(join(folder, 'metadata.new', 'timestamp.json'), '{"signed":')
  writeFileSync(join(folder, 'metadata', 'timestamp.json.tmp'), '{"signed":')
  mkdirSync(join(folder, 'downloads'), { recursive: true })
  writeFileSync(join(folder, 'downloads', 'left.tar.gz'), 'x')
  t.equal(await found(), '1.1.0')
  await source.removeLeft()
  t.notOk(existsSync(join(folder, 'downloads')))

  for (const name of ['root.json', 'timestamp.json', 'snapshot.json', 'releases.json', 'targets.json']) {
    writeFileSync(join(folder, 'metadata', name), '{')
    t.equal(await found(), '1.1.0', `${name} is damaged`)
  }
  await repository.publish('1.2.0')
  t.equal(await found(), '1.2.0')
})

test('root keys that are gone are told', async (t) => {
  const { open } = await tufSubject(t)
  const source = open({ root: '/nowhere/root.json' })
  await t.rejects(source.latest('1.0.0', never), { message: /\/nowhere\/root\.json .* cannot be read/ })
})

test('a release with newer root keys goes on with the same repository', async (t) => {
  const { repository, root, found } = await tufSubject(t)
  t.equal(await found(), '1.1.0')
  const old = repository.keys.root
  repository.keys.root = [makeKey()]
  await repository.writeRoot([...old, ...repository.keys.root])
  writeFileSync(root, readFileSync(join(repository.folder, 'metadata/2.root.json')))
  t.equal(await found(), '1.1.0', 'the root of the next release')
  await repository.publish('1.2.0')
  t.equal(await found(), '1.2.0')
  writeFileSync(root, readFileSync(repository.rootFile))
  t.equal(await found(), '1.2.0', 'the root of the release before, after a way back')
  await repository.goBack()
  await t.rejects(found(), { message: /older state/ }, 'another root does not forget what the node has seen')
})
