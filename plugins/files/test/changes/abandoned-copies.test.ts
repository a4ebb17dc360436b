import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, journalOf, post, put } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

const [folderCopy, fileCopy, never] = ['a', 'b', 'c'].map((digit) => `/.moving-${digit.repeat(16)}`) as [
  string,
  string,
  string,
]

t.test('a start removes the copies of unfinished moves, and nothing else', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const ada = await first.signIn()
  await put(ada, '/.moving-mine/file', 'x')
  await first.stop()

  const { uuid: userUuid } = ada.user
  const disk = join(dataFolder, 'files', userUuid)
  await mkdir(join(disk, folderCopy, 'inner'), { recursive: true })
  await writeFile(join(disk, folderCopy, 'inner', 'file'), 'x')
  await writeFile(join(disk, fileCopy), 'x')
  const journal = await openJournal(journalOf(dataFolder))
  const begin = (op: 'mkdir' | 'write', path: string) =>
    journal.begin({ userUuid, op, path, staging: 'begin' })
  await (await begin('mkdir', folderCopy)).commit()
  await (await begin('write', fileCopy)).commit()
  await begin('mkdir', never)
  await journal.close()

  const services = captureServices()
  const second = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  const names = []
  for await (const { name } of services.files.for({ uuid: userUuid }).list('/')) names.push(name)
  t.strictSame(names, ['.moving-mine'])
  t.strictSame(
    (await services.recorded(userUuid)).map(({ path }) => path),
    ['/.moving-mine/file'],
    'readers see nothing of the copies',
  )
  await second.stop()

  const again = await openJournal(journalOf(dataFolder))
  t.strictSame(await again.stagedMoves(), [])
  await again.close()
})

t.test('a finished copy is not abandoned, and a copy that could not be removed is', async (t) => {
  const dataFolder = t.testdir()
  const shaky = shakyBackend()
  const mounts = { '/cold': 'shaky' }
  const node = await createFilesNode({ mounts }, { dataFolder, plugins: [shaky.plugin] })
  const ada = await node.signIn()
  await put(ada, '/docs/file', 'x')
  await put(ada, '/file', 'x')
  for (const name of ['docs', 'file'])
    t.equal((await post(ada, 'move', { source: `/${name}`, destination: `/cold/${name}` })).status, 200)
  shaky.whileRead = () => {
    shaky.isReachable = false
  }
  shaky.spoilReads = true
  await put(ada, '/lost', 'x')
  t.not((await post(ada, 'move', { source: '/lost', destination: '/cold/lost' })).status, 200)
  t.equal(await (await get(ada, 'read', '/lost')).text(), 'x')
  await node.stop()

  const journal = await openJournal(journalOf(dataFolder))
  t.match(await journal.stagedMoves(), [{ userUuid: ada.user.uuid, path: /^\/cold\/\.moving-/ }])
  await journal.close()
})
