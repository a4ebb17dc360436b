import t from 'tap'
import { userOfNode } from '../fixtures/kept-api.ts'
import { createKeptNode, keptFilesOf, storages } from '../fixtures/kept-node.ts'
import { replay } from '../fixtures/replay.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.jobs = 2

for (const kind of storages) {
  t.test(`a deleted folder comes back with everything in it, on the storage "${kind}"`, async (t) => {
    const { services, newUser } = await createKeptNode(t, kind)
    const { ada, files, kept, write, text, trashed, keptOnStorage } = await newUser()
    await write('/docs/a.txt', 'a')
    await write('/docs/inner/b.txt', 'bb')
    await files.makeDirectory('/docs/empty')
    await write('/other', 'x')
    const before = await services.recorded(ada.user.uuid)
    const sizes = replay(before)
    const idOf = async () => (await services.index.for(ada.user).find('b.txt')).entries[0]?.id
    const id = await idOf()

    t.strictSame((await kept.keeps()).trash, true)
    await files.remove('/docs')
    await t.rejects(files.stat('/docs'), { code: 'NOT_FOUND' })
    const { cursor } = await services.index.for(ada.user).changed('')
    const [item, ...more] = (await kept.trash()).items
    t.strictSame(more, [])
    t.match(item, { path: '/docs', type: 'directory', size: 3, deleted: String })
    t.strictSame((await keptOnStorage()).length, 2)

    t.equal(await kept.restore(item?.id ?? ''), '/docs')
    t.strictSame([await text('/docs/a.txt'), await text('/docs/inner/b.txt')], ['a', 'bb'])
    t.equal((await files.stat('/docs/empty')).type, 'directory')
    t.strictSame([await trashed(), await keptOnStorage()], [[], []])
    t.equal(await idOf(), id, 'ids stay')
    const told = (await services.index.for(ada.user).changed(cursor)).entries.map(({ path }) => path)
    for (const path of ['/docs', '/docs/a.txt', '/docs/empty', '/docs/inner', '/docs/inner/b.txt'])
      t.ok(told.includes(path), `followers of the index hear of ${path}`)
    t.strictSame(
      [...replay(await services.recorded(ada.user.uuid))].sort(),
      [...sizes].sort(),
      'followers of changes have everything again',
    )
    await t.rejects(kept.restore(item?.id ?? ''), { code: 'NOT_FOUND' })
  })
}

const { newUser } = await createKeptNode(t, 'local', { mounts: { '/': 'local', '/cold': 'memory' } })

t.test('an item gets a free name if its path is taken, and another path on request', async (t) => {
  const { files, kept, write, text, trashed } = await newUser()
  const long = `/${'x'.repeat(251)}.txt`
  for (const path of ['/cat.jpg', '/cat.jpg', '/.hidden', '/folder.d/a', long]) {
    await write(path, path)
    await files.remove(path.startsWith('/folder.d') ? '/folder.d' : path)
    await write(path, 'new')
  }
  const restored: string[] = []
  for (const { id } of (await kept.trash()).items.toReversed()) restored.push(await kept.restore(id))
  t.strictSame(restored, [
    '/cat (2).jpg',
    '/cat (3).jpg',
    '/.hidden (2)',
    '/folder.d (2)',
    `/${'x'.repeat(247)} (2).txt`,
  ])
  t.equal(await text('/cat (3).jpg'), '/cat.jpg')
  t.equal(await text('/cat.jpg'), 'new')

  await files.remove('/cat.jpg')
  const [item] = (await kept.trash()).items
  t.equal(await kept.restore(item?.id ?? '', '/made/for/it/dog.jpg'), '/made/for/it/dog.jpg')
  t.strictSame(await trashed(), [])
})

t.test('an item never leaves its mount, not for a free name beside it', async (t) => {
  const { files, kept, write, text, trashed } = await newUser()
  await write('/cold/b', 'b')
  await files.remove('/cold/b')
  const [item] = (await kept.trash()).items
  for (const [path, message] of [
    ['/cold', /something at "\/cold" already/],
    ['/elsewhere', /another storage/],
  ] as const)
    await t.rejects(kept.restore(item?.id ?? '', path), { code: 'CONFLICT', message })
  await t.rejects(kept.restore(item?.id ?? '', '/'), { code: 'VALIDATION_ERROR' })
  t.strictSame(await trashed(), ['/cold/b'])
  await kept.restore(item?.id ?? '')
  t.equal(await text('/cold/b'), 'b')
})

t.test('an item whose folder became a file stays until it is restored elsewhere', async (t) => {
  const { files, kept, write, text, trashed } = await newUser()
  await write('/docs/a', 'a')
  await files.remove('/docs/a')
  await files.remove('/docs')
  await write('/docs', 'a file now')
  const item = (await kept.trash()).items.find(({ path }) => path === '/docs/a')
  await t.rejects(kept.restore(item?.id ?? ''), { code: 'CONFLICT' })
  t.ok((await trashed()).includes('/docs/a'))
  t.equal(await kept.restore(item?.id ?? '', '/a'), '/a')
  t.equal(await text('/a'), 'a')
  await t.rejects(kept.restore('nothing'), { code: 'NOT_FOUND' })
  await t.rejects(kept.restore('1', '/'), { code: 'NOT_FOUND' })
})

t.test('of two restores of one item, one wins', async (t) => {
  const { files, kept, write } = await newUser()
  await write('/docs/a', 'a')
  await files.remove('/docs')
  const [item] = (await kept.trash()).items
  const outcomes = await Promise.allSettled(
    ['/docs', '/docs', '/b', '/c'].map((path) => kept.restore(item?.id ?? '', path)),
  )
  const won = outcomes.filter(({ status }) => status === 'fulfilled')
  t.equal(won.length, 1)
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.equal(outcome.reason.code, 'NOT_FOUND')
})

t.test('what is deleted for good, and what is only moved, is not kept', async (t) => {
  const { files, kept, write, trashed, keptOnStorage } = await newUser()
  for (const path of ['/a', '/b/c', '/d', '/e']) await write(path, path)
  await files.remove('/a', { permanent: true })
  await files.move('/b', '/cold/b')
  await files.makeDirectory('/empty')
  await files.remove('/empty', { onlyIfEmpty: true })
  t.strictSame([await trashed(), await keptOnStorage()], [[], []])

  for (const path of ['/d', '/e']) await write(path, 'another content')
  const { revision } = await files.stat('/d')
  await t.rejects(files.remove('/d', { ifRevision: 'another' }), { code: 'PRECONDITION_FAILED' })
  await files.remove('/d', { ifRevision: revision })
  await files.remove('/e')
  t.strictSame(await trashed(), ['/e', '/d'])
  const page = await kept.trash({ limit: 1 })
  t.strictSame(
    [page.items[0]?.path, (await kept.trash({ limit: 1, cursor: page.cursor ?? '' })).items[0]?.path],
    ['/e', '/d'],
  )
  for (const options of [{ limit: 0 }, { limit: 1001 }, { cursor: 'x' }, { cursor: '-1' }])
    await t.rejects(kept.trash(options), { code: 'VALIDATION_ERROR' })
  t.equal((await keptOnStorage()).length, 4, 'two items, and a version of each')
  await kept.deleteItem(page.items[0]?.id ?? '')
  t.strictSame(await trashed(), ['/d'])
  t.equal((await keptOnStorage()).length, 2, 'its version went, too')
  await files.remove('/cold/b')
  await kept.emptyTrash()
  t.strictSame([await trashed(), await keptOnStorage()], [[], []])
  await t.rejects(kept.deleteItem(page.items[0]?.id ?? ''), { code: 'NOT_FOUND' })
})

t.test('without a trash, files are deleted for good', async (t) => {
  const without = await createKeptNode(t, 'local', { trash: false, versions: false })
  const { files, kept, write, trashed, keptOnStorage } = await without.newUser()
  await write('/a', '1')
  await write('/a', '2')
  t.strictSame(await kept.keeps(), { trash: false, versions: false })
  t.strictSame(await kept.versions('/a'), { items: [], cursor: null })
  await files.remove('/a')
  t.strictSame([await trashed(), await keptOnStorage()], [[], []])
})

t.test('a user never reaches what is kept of another one', async (t) => {
  const { files, kept, write } = await newUser()
  const bob = await newUser()
  const ofBob = bob.kept
  await write('/a', '1')
  await write('/a', '2')
  const [version] = (await kept.versions('/a')).items
  await bob.write('/a', 'bob')
  for (const call of [ofBob.readVersion, ofBob.restoreVersion, ofBob.deleteVersion])
    await t.rejects(async () => void (await call('/a', version?.id ?? '')), { code: 'NOT_FOUND' })
  await files.remove('/a')
  const [item] = (await kept.trash()).items
  t.strictSame((await ofBob.trash()).items, [])
  await t.rejects(ofBob.restore(item?.id ?? ''), { code: 'NOT_FOUND' })
  await t.rejects(ofBob.deleteItem(item?.id ?? ''), { code: 'NOT_FOUND' })
  await ofBob.emptyTrash()
  t.equal((await kept.trash()).items.length, 1)
})

t.test('a file that was deleted before its folder comes back before it and after it', async (t) => {
  const { files, kept, write, text, trashed } = await newUser()
  const fill = async () => {
    for (const path of ['/docs/in/a', '/docs/b']) await write(path, path)
    await files.remove('/docs/in/a')
    await files.remove('/docs')
    return (await kept.trash()).items.map(({ id }) => id)
  }
  const [folder = '', file = ''] = await fill()
  await kept.restore(folder)
  t.equal(await kept.restore(file), '/docs/in/a')
  t.strictSame([await text('/docs/in/a'), await text('/docs/b')], ['/docs/in/a', '/docs/b'])

  await files.remove('/docs', { permanent: true })
  const [later = '', earlier = ''] = await fill()
  t.equal(await kept.restore(earlier), '/docs/in/a', 'the folders above are made')
  t.equal(await kept.restore(later), '/docs (2)', 'so the path of the folder is taken')
  t.strictSame([await text('/docs/in/a'), await text('/docs (2)/b')], ['/docs/in/a', '/docs/b'])
  t.strictSame(await trashed(), [])
})

t.test('names and paths of the greatest length are deleted, overwritten and put back', async (t) => {
  const { files, kept, write, text, trashed, versionTexts } = await newUser()
  const name = `${'\u00e4'.repeat(127)}n`
  const deep = `/${Array.from({ length: 16 }, () => name).join('/')}`
  t.strictSame([Buffer.byteLength(name), Buffer.byteLength(deep)], [255, 4096])
  await write(deep, 'first')
  await write(deep, 'second')
  t.strictSame(await versionTexts(deep), ['first'])
  const [version] = (await kept.versions(deep)).items
  await kept.restoreVersion(deep, version?.id ?? '')
  t.equal(await text(deep), 'first')
  await files.remove(deep)
  await files.remove(`/${name}`)
  t.strictSame((await trashed()).length, 2)
  const [folder, file] = (await kept.trash()).items
  await kept.restore(folder?.id ?? '')
  await kept.restore(file?.id ?? '')
  t.equal(await text(deep), 'first')
  t.strictSame(await versionTexts(deep), ['second'])
  await files.remove(deep)
  await write(deep, 'other')
  const [taken] = (await kept.trash()).items
  const path = await kept.restore(taken?.id ?? '')
  t.ok(path.endsWith(' (2)') && Buffer.byteLength(path) <= 4096, 'a free name is not longer')
  await files.remove(`/${name}`)
  const [again] = (await kept.trash()).items
  await t.rejects(kept.restore(again?.id ?? '', `/${'q'.repeat(255)}/${'r'.repeat(100)}`), {
    code: 'VALIDATION_ERROR',
  })
})

t.test('the trash of a mount that is not there stays, and the rest of it can be used', async (t) => {
  const shaky = shakyBackend()
  const { newUser } = await createKeptNode(
    t,
    'local',
    { mounts: { '/': 'local', '/cold': 'shaky' } },
    { plugins: [shaky.plugin] },
  )
  const { files, kept, write, text, trashed } = await newUser()
  for (const path of ['/a', '/cold/b', '/cold/c']) {
    await write(path, path)
    await files.remove(path)
  }
  shaky.isReachable = false
  t.strictSame(await trashed(), ['/cold/c', '/cold/b', '/a'])
  const [, item] = (await kept.trash()).items
  await t.rejects(kept.restore(item?.id ?? ''), { code: 'SERVICE_UNAVAILABLE' })
  await t.rejects(kept.deleteItem(item?.id ?? ''), { code: 'SERVICE_UNAVAILABLE' })
  await t.rejects(kept.emptyTrash(), { code: 'SERVICE_UNAVAILABLE' })
  t.strictSame(await trashed(), ['/cold/c', '/cold/b'])
  shaky.isReachable = true
  await t.rejects(kept.restore(item?.id ?? '', '/elsewhere'), { code: 'CONFLICT' })
  await kept.restore(item?.id ?? '')
  t.equal(await text('/cold/b'), '/cold/b')
})

t.test('the trash of a mount that is not used any more is neither listed nor emptied', async (t) => {
  const dataFolder = t.testdir()
  const mounts = { '/': 'local', '/cold': 'memory' }
  const before = await createKeptNode(t, 'local', { mounts }, { dataFolder })
  const { ada, files, write } = await before.newUser()
  for (const path of ['/a', '/cold/b']) {
    await write(path, path)
    await files.remove(path)
  }
  await before.node.stop()
  const after = await createKeptNode(t, 'local', {}, { dataFolder })
  const { kept, trashed } = keptFilesOf(after.services, userOfNode(after.node, ada), 'local')
  t.strictSame(await trashed(), ['/a'])
  await kept.emptyTrash()
  t.strictSame(await trashed(), [])
})

t.test('a deletion and a restore that break off leave each file at one place', async (t) => {
  const { objects, newUser } = await createKeptNode(t, 'copies')
  for (let steps = 1; steps <= 14; steps += 1) {
    const { files, kept, write, keptOnStorage } = await newUser()
    for (const name of ['a', 'b', 'c']) await write(`/docs/${name}`, name)
    objects.failAfter(steps, steps % 2 === 0)
    await files.remove('/docs').catch(() => {})
    objects.failAfter(Number.POSITIVE_INFINITY, false)
    await files.remove('/docs').catch(() => {})
    objects.failAfter(steps, steps % 2 === 1)
    for (const { id } of (await kept.trash()).items) await kept.restore(id).catch(() => {})
    objects.failAfter(Number.POSITIVE_INFINITY, false)
    for (const { id } of (await kept.trash()).items) await kept.restore(id)
    const found: string[] = []
    for await (const folder of files.list('/'))
      for await (const { name } of files.list(folder.path)) found.push(name)
    t.strictSame([found.sort(), await keptOnStorage()], [['a', 'b', 'c'], []], `${steps} steps`)
  }
})

t.test(
  'an empty folder that a broken-off deletion has left at its path does not come back a second time',
  async (t) => {
    const { objects, newUser } = await createKeptNode(t, 'moves')
    for (let steps = 1; steps <= 24; steps += 1) {
      const { files, kept, write } = await newUser()
      await files.makeDirectory('/docs/empty')
      await write('/docs/full/file', 'x')
      objects.failOnce(steps, steps % 2 === 0)
      await files.remove('/docs').catch(() => {})
      objects.failOnce(Number.POSITIVE_INFINITY, false)
      for (const { id } of (await kept.trash()).items) await kept.restore(id)
      const found: string[] = []
      const folders = ['/']
      for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
        for await (const { path, name, type } of files.list(folder)) {
          if (type === 'directory') folders.push(path)
          if (name === 'empty' || name === 'file') found.push(name)
        }
      }
      t.strictSame(found.sort(), ['empty', 'file'], `${steps} steps`)
    }
  },
)
