import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FileChanged, NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { get, post, put } from '../fixtures/files-node.ts'
import { createNodeWithTwoMounts } from '../fixtures/two-mounts.ts'

t.test('entries that listings do not show stay, and the rest is moved', async (t) => {
  const { ada, disk, move, tree, recordedTree, text } = await createNodeWithTwoMounts(t)
  for (const path of ['/docs/a', '/docs/plain/b', '/docs/odd/c', '/docs/odd/deep/d'])
    await put(ada, path, path)
  const [docs, odd] = [join(disk, 'docs'), join(disk, 'docs', 'odd')]
  await symlink('/etc/passwd', join(docs, 'link'))
  await symlink('nowhere', join(odd, 'dead'))
  const illegible = Buffer.from(`${odd}/caf\xe9`, 'latin1')
  await writeFile(illegible, 'illegible')

  const { status, code, message } = await move('/docs', '/cold/docs')
  t.strictSame([status, code], [409, 'CONFLICT'])
  t.match(message, /"\/docs" was copied to "\/cold\/docs".*stay: "\/docs\/odd"\./)
  t.strictSame((await readdir(docs)).sort(), ['link', 'odd'], 'the copied entries are removed')
  t.strictSame((await readdir(odd)).length, 2)
  t.equal(await readFile(illegible, 'utf8'), 'illegible')
  for (const path of ['/docs/a', '/docs/plain/b', '/docs/odd/c', '/docs/odd/deep/d'])
    t.equal(await text(`/cold${path}`), path)
  const seen = await tree('')
  seen.delete('/cold')
  t.strictSame(
    await recordedTree().then((rows) => rows.filter(([path]) => path !== '/cold')),
    [...seen].sort(),
  )
})

t.test('files that another program changes or adds during a move stay', async (t) => {
  const { ada, disk, shaky, move, text } = await createNodeWithTwoMounts(t)
  for (const name of ['changed', 'plain', 'replaced', 'gone']) await put(ada, `/docs/${name}`, 'as it was')
  await put(ada, '/docs/inner/file', 'as it was')
  const docs = join(disk, 'docs')
  // The last change there gives the copy its name. Everything was copied by then, and nothing was removed.
  shaky.afterChange = (change) => {
    if (change !== 'move') return
    appendFileSync(join(docs, 'changed'), '!')
    writeFileSync(join(docs, 'added'), 'added')
    writeFileSync(join(docs, 'new'), 'foreign')
    renameSync(join(docs, 'new'), join(docs, 'replaced'))
    rmSync(join(docs, 'gone'))
    mkdirSync(join(docs, 'inner', 'new'))
  }
  const { status, message } = await move('/docs', '/cold/docs')
  t.equal(status, 409)
  for (const name of ['changed', 'replaced', 'inner']) t.match(message, `"/docs/${name}"`)
  t.strictSame((await readdir(docs)).sort(), ['added', 'changed', 'inner', 'replaced'])
  t.equal(await text('/docs/changed'), 'as it was!')
  t.equal(await text('/docs/replaced'), 'foreign')
  t.equal(await text('/docs/added'), 'added')
  t.strictSame(await readdir(join(docs, 'inner')), ['new'])
  for (const name of ['changed', 'plain', 'replaced', 'gone', 'inner/file'])
    t.equal(await text(`/cold/docs/${name}`), 'as it was')
})

t.test('a file that changes during its move is on both mounts', async (t) => {
  const { ada, disk, shaky, move, text } = await createNodeWithTwoMounts(t)
  await put(ada, '/file', 'old')
  shaky.afterChange = (change) => {
    if (change === 'move') writeFileSync(join(disk, 'file'), 'foreign')
  }
  const { status, message } = await move('/file', '/cold/file')
  t.equal(status, 409)
  t.match(message, /"\/file" was copied to "\/cold\/file".*stay: "\/file"\./)
  t.equal(await text('/cold/file'), 'old')
  t.equal(await text('/file'), 'foreign')
})

t.test('a source that becomes unreachable stays, and nothing is lost', async (t) => {
  const { ada, shaky, move, tree, recordedTree, text } = await createNodeWithTwoMounts(t)
  for (const name of ['a', 'b', 'c']) await put(ada, `/cold/docs/${name}`, name)
  shaky.afterChange = () => {
    throw new NodekeepError('SERVICE_UNAVAILABLE', 'The connection broke.')
  }
  const { status, message } = await move('/cold/docs', '/docs')
  shaky.afterChange = () => {}
  t.equal(status, 503)
  t.match(message, /"\/cold\/docs" was copied to "\/docs", but could not be removed.*The connection broke/)
  for (const name of ['a', 'b', 'c']) t.equal(await text(`/docs/${name}`), name)
  const seen = await tree('')
  t.strictSame(await recordedTree(), [...seen].sort(), 'the journal agrees with the remaining files')
})

t.test('a copy that cannot get its name is removed', async (t) => {
  const { ada, disk, shaky, move, tree, recordedTree } = await createNodeWithTwoMounts(t)
  await put(ada, '/cold/docs/a', 'a')
  shaky.beforeRead = async () => {
    await mkdir(join(disk, 'docs'), { recursive: true })
  }
  t.equal((await move('/cold/docs', '/docs')).status, 409)
  shaky.beforeRead = async () => {}
  t.strictSame([...(await tree('')).keys()], ['/cold', '/cold/docs', '/cold/docs/a', '/docs'])
  t.strictSame(
    (await recordedTree()).map(([path]) => path),
    ['/cold', '/cold/docs', '/cold/docs/a'],
  )
})

t.test('the journal records the revision that a file has after the move', async (t) => {
  const { ada, services, move } = await createNodeWithTwoMounts(t)
  await put(ada, '/file', 'x')
  t.equal((await move('/file', '/cold/file')).status, 200)
  const etag = (await get(ada, 'read', '/cold/file')).headers.get('etag')
  const changes = await services.recorded(ada.user.uuid)
  t.match(changes.slice(-2), [
    { op: 'write', path: '/cold/file', size: 1, revision: etag?.slice(1, -1) },
    { op: 'delete', path: '/file' },
  ])
})

t.test('readers of the journal see the destination of a move, and never the half-way place', async (t) => {
  const { ada, shaky, services, move, tree, recordedTree } = await createNodeWithTwoMounts(t)
  for (const path of ['/docs/a', '/docs/inner/b', '/cold/docs/other']) await put(ada, path, path)
  await put(ada, '/.moving-mine', 'x')
  const { seq: before } = await services.changes.head(ada.user.uuid)
  const announced: number[] = []
  services.events.on(FileChanged, ({ seq }) => {
    announced.push(seq)
  })
  const heads: Promise<number>[] = []
  shaky.whileRead = () => {
    heads.push(services.changes.head(ada.user.uuid).then(({ seq }) => seq))
  }
  const answer = await post(ada, 'move', { source: '/docs', destination: '/cold/docs', overwrite: true })
  t.equal(answer.status, 200)
  t.strictSame([...new Set(await Promise.all(heads))], [before], 'nothing is seen while files are copied')
  const changes = await services.recorded(ada.user.uuid, before)
  const facts = changes.map(({ op, path, source }) => ({ op, path, ...(source !== undefined && { source }) }))
  t.strictSame(facts.slice(0, 2), [
    { op: 'delete', path: '/cold/docs' },
    { op: 'mkdir', path: '/cold/docs' },
  ])
  const written = facts.filter(({ op }) => op === 'write')
  t.strictSame(
    written.sort((a, b) => a.path.localeCompare(b.path)),
    [
      { op: 'write', path: '/cold/docs/a' },
      { op: 'write', path: '/cold/docs/inner/b' },
    ],
  )
  t.strictSame(facts.at(-1), { op: 'delete', path: '/docs' })
  t.equal(
    announced.length,
    6,
    'one of what goes to the trash, one of the copy, one for each entry of the source',
  )
  t.notOk((await move('/.moving-mine', '/mine')).code, 'a file of such a name is a file like others')
  t.match((await services.recorded(ada.user.uuid, before)).at(-1), {
    op: 'move',
    source: '/.moving-mine',
    path: '/mine',
  })
  t.strictSame(await recordedTree(), [...(await tree(''))].sort())
})

t.test('a copy that is placed while its mount stops answering appears when it answers again', async (t) => {
  const { ada, shaky, services, move, tree, recordedTree } = await createNodeWithTwoMounts(t)
  await put(ada, '/docs/a', 'a')
  shaky.afterChange = (change) => {
    if (change !== 'move') return
    shaky.isReachable = false
    throw new Error('The connection broke.')
  }
  t.not((await move('/docs', '/cold/docs')).status, 200)
  shaky.afterChange = () => {}
  await put(ada, '/other', 'x')
  t.match((await services.recorded(ada.user.uuid)).at(-1), { path: '/other' }, 'it holds nothing back')
  t.equal(services.changes.stalled(ada.user.uuid), null)
  shaky.isReachable = true
  await put(ada, '/cold/docs/b', 'b')
  t.strictSame(await recordedTree(), [...(await tree(''))].sort())
})

t.test('a tree of many files moves as a whole', async (t) => {
  const { ada, move, tree, recordedTree } = await createNodeWithTwoMounts(t)
  const paths = Array.from({ length: 120 }, (_, n) => `/many/${n % 7}/${n % 3}/${n}`)
  await Promise.all(paths.map((path) => put(ada, path, path)))
  t.equal((await move('/many', '/cold/many')).status, 200)
  t.equal((await move('/cold/many', '/again')).status, 200)
  const seen = await tree('')
  t.equal([...seen].filter(([, size]) => size !== null).length, paths.length)
  t.notOk([...seen.keys()].some((path) => path.startsWith('/many') || path.startsWith('/cold/')))
  t.strictSame(await recordedTree(), [...seen].sort())
})

t.test('the error of a move names the requested paths', async (t) => {
  const { ada, move, tree } = await createNodeWithTwoMounts(t)
  await put(ada, '/file', 'x')
  await put(ada, '/docs/inner/file', 'x')
  await put(ada, '/cold/one', 'x')
  for (const [source, destination] of [
    ['/file', '/cold/one/two'],
    ['/docs', '/cold/one/two'],
    ['/docs', '/cold/one/two/three'],
  ] as const) {
    const { status, code, message } = await move(source, destination)
    t.strictSame([status, code], [409, 'CONFLICT'])
    t.match(message, destination)
    t.notMatch(message, /\.moving-/)
  }
  t.strictSame([...(await tree(''))].map(([path]) => path).sort(), [
    '/cold',
    '/cold/one',
    '/docs',
    '/docs/inner',
    '/docs/inner/file',
    '/file',
  ])
})
