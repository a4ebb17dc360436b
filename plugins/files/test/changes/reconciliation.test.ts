import { linkSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import type { ChangeIntent } from '../../src/journal/change.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { type CapturedServices, captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, journalOf, post, put } from '../fixtures/files-node.ts'
import { keptOf, userOfNode } from '../fixtures/kept-api.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

// Concurrent: one of the tests mostly waits.
t.jobs = 3

t.test('changes that a crash interrupted are resolved by the state of the storage', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const ada = await first.signIn()
  const { uuid: userUuid } = ada.user
  const etag = (await put(ada, '/written', 'x')).headers.get('etag') ?? ''
  await put(ada, '/not-moved', 'x')
  await post(ada, 'mkdir', { path: '/folder' })
  await first.stop()
  const revision = etag.slice(1, -1)

  const happened: Omit<ChangeIntent, 'userUuid'>[] = [
    { op: 'write', path: '/written', revision, size: 1 },
    { op: 'mkdir', path: '/folder' },
    { op: 'delete', path: '/gone' },
    { op: 'move', path: '/written', source: '/former', revision },
    { op: 'move', path: '/folder', source: '/former-folder' },
  ]
  const failed: Omit<ChangeIntent, 'userUuid'>[] = [
    { op: 'write', path: '/written', revision: 'another', size: 1 },
    { op: 'write', path: '/none', revision: 'x', size: 1 },
    { op: 'write', path: '/folder', revision: 'x', size: 1 },
    { op: 'mkdir', path: '/none' },
    { op: 'mkdir', path: '/written' },
    { op: 'delete', path: '/written' },
    { op: 'move', path: '/none', source: '/not-moved', revision },
    { op: 'move', path: '/folder', source: '/not-moved' },
  ]
  const journal = await openJournal(journalOf(dataFolder))
  const head = await journal.head(userUuid)
  for (const intent of [...happened, ...failed]) await journal.begin({ userUuid, ...intent })
  await journal.begin({ userUuid, op: 'delete', path: '/last' })
  await journal.close()

  const services = captureServices()
  const second = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  t.teardown(() => second.stop())
  const recorded = await services.recorded(userUuid, head)
  t.match(recorded, [...happened, { op: 'delete', path: '/last' }])
  t.equal(recorded.length, happened.length + 1)
})

t.test('a change that was interrupted keeps what it should, and nothing else', async (t) => {
  const dataFolder = t.testdir()
  const services = captureServices()
  const first = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  const { ada, paths, home, keptFolder } = await interruptedUser(first, services)
  await first.stop()
  const { uuid: userUuid } = ada.user
  const { overwritten, deleted, restored, lost, replaced } = paths

  // Each is in the state in which a crash has left it.
  mkdirSync(keptFolder, { recursive: true })
  renameSync(join(home, 'deleted'), join(keptFolder, 'of-deleted'))
  renameSync(join(home, 'replaced'), join(keptFolder, 'of-replaced'))
  linkSync(join(home, 'overwritten'), join(keptFolder, 'of-overwritten'))
  renameSync(join(home, 'lost'), join(keptFolder, 'of-lost'))
  writeFileSync(join(home, 'replaced'), 'of another program')
  const [restoredName = ''] = readdirSync(keptFolder).filter((name) => !name.startsWith('of-'))
  renameSync(join(keptFolder, restoredName), join(home, 'restored'))
  const journal = await openJournal(journalOf(dataFolder))
  const intents: Omit<ChangeIntent, 'userUuid'>[] = [
    { op: 'delete', path: '/deleted', keptAs: 'of-deleted', ...deleted },
    { op: 'delete', path: '/replaced', keptAs: 'of-replaced', ...replaced },
    { op: 'delete', path: '/stays', keptAs: 'of-stays' },
    { op: 'write', path: '/overwritten', revision: 'another', size: 1, keptAs: 'of-overwritten' },
    { op: 'write', path: '/lost', revision: 'another', size: 1, keptAs: 'of-lost' },
    { op: 'move', path: '/restored', staging: 'place', restores: restoredName, ...restored },
  ]
  for (const intent of intents) await journal.begin({ userUuid, ...intent })
  await journal.close()

  const again = captureServices()
  const second = await createFilesNode({}, { dataFolder, plugins: [again.plugin] })
  t.teardown(() => second.stop())
  const kept = keptOf(userOfNode(second, ada))
  const { items } = await kept.trash()
  t.strictSame(items.map(({ path, size }) => [path, size]).sort(), [
    ['/deleted', 7],
    ['/replaced', 8],
  ])
  t.strictSame(readdirSync(keptFolder).sort(), ['of-deleted', 'of-replaced'])
  const files = again.files.for(ada.user)
  await t.rejects(files.stat('/deleted'), { code: 'NOT_FOUND' })
  for (const [path, text] of [
    ['/replaced', 'of another program'],
    ['/stays', 'stays'],
    ['/overwritten', 'overwritten'],
    ['/lost', 'lost'],
    ['/restored', 'restored'],
  ] as const)
    t.equal(Buffer.concat(await Array.fromAsync((await files.read(path)).content)).toString(), text)
  t.equal((await files.stat('/overwritten')).revision, overwritten.revision)
  t.equal((await files.stat('/lost')).revision, lost.revision)
  t.strictSame((await kept.versions('/overwritten')).items, [])
})

/** Files of a user, whose content is their name, and one of them in the trash. */
async function interruptedUser(node: TestNode, services: CapturedServices) {
  const ada = await node.signIn()
  const files = services.files.for(ada.user)
  const names = ['deleted', 'replaced', 'stays', 'overwritten', 'lost', 'restored'] as const
  const revisions = await Promise.all(
    names.map(async (name) => {
      const { revision, size } = await files.write(`/${name}`, Readable.from([Buffer.from(name)]))
      return [name, { revision, size }] as const
    }),
  )
  await files.remove('/restored')
  const paths = Object.fromEntries(revisions) as Record<
    (typeof names)[number],
    { readonly revision: string; readonly size: number }
  >
  const root = join(node.dataFolder, 'files')
  return { ada, paths, home: join(root, ada.user.uuid), keptFolder: join(root, 'kept', ada.user.uuid) }
}

t.test('folders that a crash left above a change are recorded, and those of a copy are not', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const { uuid: userUuid } = (await first.signIn()).user
  await first.stop()
  await mkdir(join(dataFolder, 'files', userUuid, 'left/above'), { recursive: true })
  await mkdir(join(dataFolder, 'files', userUuid, '.copying-0/in'), { recursive: true })
  const journal = await openJournal(journalOf(dataFolder))
  const head = await journal.head(userUuid)
  await journal.begin({ userUuid, op: 'write', path: '/left/above/none/file', revision: 'x', size: 1 })
  await journal.begin({ userUuid, op: 'write', path: '/.copying-0/in/file', revision: 'x', staging: 'fill' })
  await journal.close()

  const services = captureServices()
  const second = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  t.teardown(() => second.stop())
  const recorded = await services.recorded(userUuid, head)
  t.match(recorded, [
    { op: 'mkdir', path: '/left', by: 'disk' },
    { op: 'mkdir', path: '/left/above', by: 'disk' },
  ])
  t.equal(recorded.length, 2)
})

t.test('empty folders that a crash left in the trash for files that stay are removed', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const { uuid: userUuid } = (await first.signIn()).user
  await first.stop()
  const home = join(dataFolder, 'files', userUuid)
  const item = join(dataFolder, 'files/kept', userUuid, 'item')
  await mkdir(join(home, 'docs'), { recursive: true })
  for (const name of ['x', 'y']) writeFileSync(join(home, 'docs', name), name)
  await mkdir(join(item, 'empty/above'), { recursive: true })
  await mkdir(join(item, 'full/empty'), { recursive: true })
  writeFileSync(join(item, 'full/z'), 'z')
  const journal = await openJournal(journalOf(dataFolder))
  await journal.begin({ userUuid, op: 'delete', path: '/docs/x', keptAs: 'item/empty/above/none/x' })
  await journal.begin({ userUuid, op: 'delete', path: '/docs/y', keptAs: 'item/full/empty/y' })
  await journal.close()

  const second = await createFilesNode({}, { dataFolder })
  t.teardown(() => second.stop())
  t.strictSame(readdirSync(item, { recursive: true }).sort(), ['full', 'full/z'])
  t.strictSame(readdirSync(join(home, 'docs')).sort(), ['x', 'y'])
})

t.test('a change stays open while its mount is unreachable, and hides later changes', async (t) => {
  const dataFolder = t.testdir()
  const userUuid = '6f6ef3b6-6f3b-4f0e-9d2e-0a5a4f1c9d10'
  const journal = await openJournal(journalOf(dataFolder))
  await journal.begin({ userUuid, op: 'delete', path: '/gone/a' })
  await journal.begin({ userUuid, op: 'delete', path: '/b' })
  await journal.close()
  const services = captureServices()
  const node = await createFilesNode(
    { mounts: { '/gone': 'shaky' } },
    { dataFolder, plugins: [services.plugin] },
  )
  t.strictSame(await services.recorded(userUuid), [])
  t.match(services.changes.stalled(userUuid), { mount: '/gone', since: Date })
  t.equal(services.changes.stalled('somebody else'), null)
  await node.stop()

  const again = captureServices()
  const later = await createFilesNode(
    { mounts: { '/gone': 'shaky' } },
    { dataFolder, plugins: [again.plugin, shakyBackend().plugin] },
  )
  t.teardown(() => later.stop())
  t.match(await again.recorded(userUuid), [{ path: '/gone/a' }, { path: '/b' }])
  t.equal(again.changes.stalled(userUuid), null)
})

t.test('a mount that hangs delays neither the start of the node nor changes on other mounts', async (t) => {
  const dataFolder = t.testdir()
  const hanging = '6f6ef3b6-6f3b-4f0e-9d2e-0a5a4f1c9d10'
  const other = '0d9b4c7e-31b0-4a0e-8f0f-7e6a0f8f3b22'
  const file = journalOf(dataFolder)
  const journal = await openJournal(file)
  await journal.begin({ userUuid: hanging, op: 'delete', path: '/cold/a' })
  const copy = { op: 'mkdir', path: '/cold/.moving-0', staging: 'begin' } as const
  await (await journal.begin({ userUuid: hanging, ...copy })).commit()
  await journal.begin({ userUuid: other, op: 'delete', path: '/gone' })
  await journal.close()

  const services = captureServices()
  const shaky = shakyBackend()
  shaky.beforeStat = () => new Promise(() => {})
  const mounts = { '/cold': 'shaky' }
  const node = await createFilesNode({ mounts }, { dataFolder, plugins: [shaky.plugin, services.plugin] })
  t.match(await services.recorded(other), [{ path: '/gone' }])
  t.strictSame(await services.recorded(hanging), [])
  const ada = await node.signIn()
  t.equal((await put(ada, '/file', 'x')).status, 200)
  await node.stop()

  const reopened = await openJournal(file)
  t.equal((await reopened.pending()).length, 1)
  t.equal((await reopened.stagedMoves()).length, 1)
  await reopened.close()
})
