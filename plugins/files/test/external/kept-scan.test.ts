import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { type Test, test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, journalOf, post, put } from '../fixtures/files-node.ts'
import { keptOf, userOfNode } from '../fixtures/kept-api.ts'

async function start(t: Test, dataFolder: string) {
  const services = captureServices()
  const node = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  t.teardown(() => node.stop())
  return { node, services }
}

const facts = (items: NodeAnswers['GET /api/files/trash']['items']) =>
  items.map(({ path, type, size, entries }) => [path, type, size, entries])

test('what is kept is in the trash again after the journal was lost, and can be restored', async (t) => {
  const dataFolder = t.testdir()
  const first = await start(t, dataFolder)
  const ada = await first.node.signIn()
  await put(ada, '/a/in/file', 'content')
  await put(ada, '/b', 'of b')
  for (const path of ['/a', '/b']) t.equal((await post(ada, 'delete', { path })).status, 200)
  await first.node.stop()
  const journal = journalOf(dataFolder)
  for (const file of await readdir(dirname(journal))) await rm(join(dirname(journal), file))

  const { node, services } = await start(t, dataFolder)
  await services.untilIndexed(ada)
  const again = userOfNode(node, ada)
  const mine = keptOf(again)
  const { items } = await mine.trash()
  t.same(
    facts(items)
      .map(([, ...rest]) => rest)
      .sort(),
    [
      ['directory', 7, 2],
      ['file', 4, 0],
    ],
  )
  const folder = items.find(({ type }) => type === 'directory')
  t.equal(await mine.restore(folder?.id ?? '', '/back'), '/back')
  t.equal(await (await get(again, 'read', '/back/in/file')).text(), 'content')
  t.same(
    (await services.recorded(ada.user.uuid)).map(({ op, path }) => [op, path]),
    [
      ['mkdir', '/back'],
      ['mkdir', '/back/in'],
      ['write', '/back/in/file'],
    ],
  )
})

test('what other programs change in the folder of kept files is no change of the files of the user', async (t) => {
  const dataFolder = t.testdir()
  const first = await start(t, dataFolder)
  const ada = await first.node.signIn()
  for (const path of ['/gone', '/folder/gone', '/folder/stays']) await put(ada, path, 'content')
  for (const path of ['/gone', '/folder']) await post(ada, 'delete', { path })
  await first.services.untilIndexed(ada)
  const { seq } = await first.services.changes.head(ada.user.uuid)
  await first.node.stop()
  const folder = join(dataFolder, 'files', 'kept', ada.user.uuid)
  for (const name of await readdir(folder)) {
    const inner = await readdir(join(folder, name)).catch(() => null)
    await rm(join(folder, name, inner === null ? '' : 'gone'))
  }
  await mkdir(join(folder, 'new'))
  await writeFile(join(folder, 'new', 'file'), 'of somebody')

  const { node, services } = await start(t, dataFolder)
  const kept = keptOf(userOfNode(node, ada))
  await services.changes.follow(ada.user.uuid)
  const wanted = JSON.stringify([
    ['/new', 'directory', 11, 1],
    ['/folder', 'directory', 7, 1],
  ])
  let found = ''
  while (found !== wanted) {
    found = JSON.stringify(facts((await kept.trash()).items))
    await delay(10)
  }
  t.same(await services.recorded(ada.user.uuid, seq), [])
})
