import t from 'tap'
import { countingBackend } from '../fixtures/counting-backend.ts'
import { createKeptNode, storages } from '../fixtures/kept-node.ts'

t.jobs = 2

for (const kind of storages.filter((one) => one !== 'moves' && one !== 'copies')) {
  t.test(`an overwritten file keeps its contents, on the storage "${kind}"`, async (t) => {
    const { newUser, services } = await createKeptNode(t, kind)
    const { ada, files, kept, write, text, versionTexts, versionText, trashed } = await newUser()
    t.strictSame((await kept.keeps()).versions, true)
    const first = await write('/file', 'first')
    t.strictSame(await versionTexts('/file'), [])
    await write('/file', 'second')
    await write('/new', 'third')
    await files.move('/new', '/file', { overwrite: true })
    await write('/copied', 'fourth')
    await files.copy('/copied', '/file', { overwrite: true })
    t.equal(await text('/file'), 'fourth')
    t.strictSame(await versionTexts('/file'), ['third', 'second', 'first'])

    const { items } = await kept.versions('/file')
    const oldest = items[2]
    t.match(oldest, { size: 5, revision: first.revision, replaced: String, modified: String })
    const range = await kept.readVersion('/file', oldest?.id ?? '', 'bytes=1-2')
    t.equal(await range.text(), 'ir')
    const page = await kept.versions('/file', { limit: 2 })
    t.strictSame(
      (await kept.versions('/file', { cursor: page.cursor ?? '' })).items.map(({ id }) => id),
      [oldest?.id],
    )

    const { seq } = await services.changes.head(ada.user.uuid)
    t.equal(await kept.restoreVersion('/file', oldest?.id ?? ''), first.revision)
    t.equal(await text('/file'), 'first')
    t.strictSame(await versionTexts('/file'), ['fourth', 'third', 'second'])
    t.match(await services.recorded(ada.user.uuid, seq), [
      { op: 'write', path: '/file', revision: first.revision, size: 5 },
    ])
    await t.rejects(kept.restoreVersion('/file', oldest?.id ?? ''), { code: 'NOT_FOUND' })

    await files.move('/file', '/moved')
    await files.remove('/moved')
    const [item] = (await kept.trash()).items
    await kept.restore(item?.id ?? '', '/back')
    t.strictSame(await versionTexts('/back'), ['fourth', 'third', 'second'], 'versions follow the file')
    await kept.deleteVersion('/back', items[0]?.id ?? '')
    t.strictSame(await versionTexts('/back'), ['fourth', 'second'])
    await t.rejects(versionText('/back', items[0]?.id ?? ''), { code: 'NOT_FOUND' })
    await t.rejects(versionText('/copied', items[1]?.id ?? ''), { code: 'NOT_FOUND' })
    t.strictSame(await trashed(), [])
  })
}

t.test('a storage that only copies files keeps contents, and gives them back', async (t) => {
  const counting = countingBackend()
  const storage = { mounts: { '/': 'counting' } }
  const { newUser } = await createKeptNode(t, 'memory', storage, { plugins: [counting.plugin] })
  const { files, kept, write, text, trashed, versionTexts } = await newUser()
  t.strictSame(await kept.keeps(), { trash: true, versions: true })
  for (const content of ['first', 'second', 'third']) await write('/file', content)
  t.strictSame(await versionTexts('/file'), ['second', 'first'])
  const [, oldest] = (await kept.versions('/file')).items
  const restored = await kept.restoreVersion('/file', oldest?.id ?? '')
  t.equal(restored, (await files.stat('/file')).revision)
  t.equal(await text('/file'), 'first')
  t.strictSame(await versionTexts('/file'), ['third', 'second'])
  await write('/folder/a', 'a')
  await write('/other/b', 'b')
  await files.move('/other', '/folder', { overwrite: true })
  t.strictSame(await trashed(), ['/folder'])
  await files.remove('/file')
  const [item] = (await kept.trash()).items
  await kept.restore(item?.id ?? '')
  t.strictSame([await text('/file'), ...(await versionTexts('/file'))], ['first', 'third', 'second'])

  await files.move('/file', '/folder/moved')
  t.strictSame(await versionTexts('/folder/moved'), ['third', 'second'], 'versions follow the file')
  await files.move('/folder', '/place')
  t.strictSame(await versionTexts('/place/moved'), ['third', 'second'])
  await files.copy('/place/moved', '/copied')
  t.strictSame(await versionTexts('/copied'), [])
})

const { newUser } = await createKeptNode(t, 'local')

t.test('a replaced folder, and one that replaces a file, are in the trash', async (t) => {
  const { files, kept, write, text, trashed, versionTexts } = await newUser()
  await write('/old/a', 'old')
  await write('/new/a', 'new')
  await files.move('/new', '/old', { overwrite: true })
  t.strictSame(await trashed(), ['/old'])
  await write('/file', 'file')
  await files.copy('/old', '/file', { overwrite: true })
  t.strictSame(await trashed(), ['/file', '/old'])
  await write('/other', 'other')
  await files.move('/other', '/file', { overwrite: true })
  t.strictSame(await trashed(), ['/file', '/file', '/old'])
  t.strictSame(await versionTexts('/file'), [])
  const items = (await kept.trash()).items
  t.equal(await kept.restore(items[1]?.id ?? ''), '/file (2)')
  t.equal(await text('/file (2)'), 'file')
  t.equal(await kept.restore(items[2]?.id ?? ''), '/old (2)')
  t.equal(await text('/old (2)/a'), 'old')
})

t.test('of two restores of one version, one wins', async (t) => {
  const { kept, write, text, versionTexts } = await newUser()
  for (const content of ['1', '2', '3']) await write('/file', content)
  const [, oldest] = (await kept.versions('/file')).items
  const outcomes = await Promise.allSettled(
    Array.from({ length: 4 }, () => kept.restoreVersion('/file', oldest?.id ?? '')),
  )
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  t.equal(await text('/file'), '1')
  t.strictSame(await versionTexts('/file'), ['3', '2'])
})

t.test('versions of folders and of nothing are refused', async (t) => {
  const { files, kept, write } = await newUser()
  await files.makeDirectory('/folder')
  await t.rejects(kept.versions('/folder'), { code: 'VALIDATION_ERROR' })
  await t.rejects(kept.versions('/none'), { code: 'NOT_FOUND' })
  await write('/file', '1')
  for (const id of ['x', '1', '99999999999999999999'])
    await t.rejects(kept.readVersion('/file', id), { code: 'NOT_FOUND' })
})

t.test('a version that is read goes on when it is deleted meanwhile', async (t) => {
  const { kept, write } = await newUser()
  await write('/file', 'x'.repeat(300_000))
  await write('/file', 'new')
  const [version] = (await kept.versions('/file')).items
  const reading = await kept.readVersion('/file', version?.id ?? '')
  await kept.deleteVersion('/file', version?.id ?? '')
  t.equal((await reading.text()).length, 300_000)
})

t.test('whoever takes a file over keeps what was there before', async (t) => {
  const { ada, kept, write } = await newUser()
  const by = (id: string) => ({ maker: { kind: 'token', id, user: ada.user.uuid } as const })
  await write('/file', 'mine', by('one'))
  await write('/file', 'changed', by('two'))
  await write('/file', 'again', by('two'))
  const { items } = await kept.versions('/file')
  t.strictSame(
    items.map(({ maker }) => maker?.id),
    ['two', 'two'],
  )
})
