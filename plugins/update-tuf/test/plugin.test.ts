import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { startWithSource } from './fixtures/source-of-node.ts'
import { never, tufSubject } from './fixtures/tuf-subject.ts'

test('without an address, there is no source, and nothing fails', async (t) => {
  const { source } = await startWithSource(t, {})
  t.equal(source.isConfigured, false)
  t.equal(await source.latest('1.0.0', never), null)
})

test('a node finds a release in its repository', async (t) => {
  const { server, root } = await tufSubject(t)
  const { node, source } = await startWithSource(t, { url: server.url.href.slice(0, -1), root })
  t.equal(source.isConfigured, true)
  t.match(await source.latest('0.0.1', never), { version: '1.1.0' })
  t.strictSame(server.requests[0], '/metadata/2.root.json')
  t.ok(node.plugins().every(({ state }) => state === 'active'))
})

test('root keys lie at a path from the data folder', async (t) => {
  const { server, root } = await tufSubject(t)
  const dataFolder = t.testdir()
  cpSync(root, join(dataFolder, 'keys.json'))
  const { source } = await startWithSource(t, { url: server.url.href, root: 'keys.json' }, dataFolder)
  t.match(await source.latest('0.0.1', never), { version: '1.1.0' })
})

test('an address without root keys is refused at the start, with what to do', async (t) => {
  const { server } = await tufSubject(t)
  for (const [config, message] of [
    [{ url: server.url.href }, /update-tuf\.root is missing.*metadata\/1\.root\.json/],
    [{ url: server.url.href, root: '/nowhere/root.json' }, /\/nowhere\/root\.json has no root keys/],
    [{ url: server.url.href, root: import.meta.filename }, /has no root keys/],
    [{ url: 'ftp://example.org' }, /update-tuf\.url.*is no address of a repository/],
    [{ url: 'https://user:secret@example.org' }, /update-tuf\.url.*without user/],
    [{ url: 'releases' }, /update-tuf\.url.*absolute path of a folder/],
  ] as const) {
    await t.rejects(startWithSource(t, config), { message })
  }
})
